import type { Span } from '@weir/proxy/schema';
import { breakBefore, endsLine, isBlankLine } from './toml-text.ts';

/** A change of a text: replaces `remove` UTF-16 units at `at` by `insert`. */
export interface Splice {
  readonly at: number;
  readonly remove: number;
  readonly insert: string;
}

export const insertion = (at: number, insert: string): Splice => ({ at, remove: 0, insert });

export const deletion = (start: number, end: number): Splice => ({
  at: start,
  remove: end - start,
  insert: '',
});

/**
 * Deletes whole lines that are not in a string. If the last line is deleted, the line before it ends the file as the
 * last line did.
 *
 * @param isComment whether the line before is a comment: an empty line then separates it from the following text
 */
export function linesDeletion(text: string, { start, end }: Span, isComment: boolean): Splice {
  if (end === text.length) {
    const isUnended = !endsLine(text, end) && start > 0;
    return deletion(isUnended ? start - breakBefore(text, start).length : start, end);
  }
  const isApart = !isComment || isBlankLine(text, end);
  return deletion(start, isApart ? end : end - breakBefore(text, end).length);
}

/** Applies changes, which are in document order and do not overlap, to a text. */
export function splice(text: string, splices: readonly Splice[]): string {
  let result = '';
  let from = 0;
  for (const { at, remove, insert } of splices) {
    result += text.slice(from, at) + insert;
    from = at + remove;
  }
  return result + text.slice(from);
}
