import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../net/clock.ts';

/** How long the thread writes at a stretch, in milliseconds: traffic waits so long. */
const SLICE_MS = 2;
/** The clock is looked at once for so many items. */
const STRIDE = 64;

/**
 * Writes items one after the other with commas between. Of a long list the thread turns to other work
 * now and then; each item shows what it is at the moment when it is written.
 */
export async function writeList<Item>(
  items: readonly Item[],
  write: (item: Item) => string,
  clock: Clock,
): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  let text = '';
  let start = clock.now();
  for (const [index, item] of items.entries()) {
    text += index === 0 ? write(item) : `,${write(item)}`;
    if (index % STRIDE !== STRIDE - 1 || clock.now() - start < SLICE_MS) continue;
    pieces.push(Buffer.from(text));
    text = '';
    await turn();
    start = clock.now();
  }
  pieces.push(Buffer.from(text));
  return pieces;
}
