import { shownLines } from '@weir/config/effective';
import type { ChangedLines, LineView } from './view.ts';

const CONTEXT = 2;
/** Maximum number of lines listed for each side. */
const MOST = 24;

/**
 * Compares two texts by their common prefix and suffix of lines: returns the lines removed and added between them, with
 * secrets starred.
 */
export async function changedLines(before: string, after: string): Promise<ChangedLines> {
  const old = before.split('\n');
  const now = after.split('\n');
  const least = Math.min(old.length, now.length);
  let head = 0;
  while (head < least && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < least - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const counts = [old.length - head - tail, now.length - head - tail] as const;
  const part = (text: string, count: number): Promise<readonly LineView[]> =>
    count === 0 ? Promise.resolve([]) : shownLines(text, head + 1, head + Math.min(count, MOST));
  const removed = await part(before, counts[0]);
  const added = await part(after, counts[1]);
  const context = head === 0 ? [] : await shownLines(after, head + 1 - CONTEXT, head);
  const texts = (lines: readonly LineView[]): string => lines.map(({ text }) => text).join('\n');
  return {
    context: context.slice(-CONTEXT),
    removed,
    added,
    moreRemoved: counts[0] - removed.length,
    moreAdded: counts[1] - added.length,
    hidden: counts[0] === counts[1] && counts[0] > 0 && texts(removed) === texts(added),
  };
}
