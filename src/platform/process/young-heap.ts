import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Bytes from which on the young generation of the heap does not grow any more. */
const ENOUGH = 8 << 20;

/** How often it should be looked at, in milliseconds: V8 also makes it smaller in an idle process. */
export const YOUNG_HEAP_LOOK_MS = 1_000;

/**
 * Keeps the young generation of this process's heap from growing once it has enough. V8 doubles it
 * up to 50 MB of resident memory as soon as many objects survive, as those of a thousand new flows
 * do, and keeps it while the process has work. That would be most of the memory of these flows; no
 * difference in the processor time of a connection was found between 6 MB and 24.
 *
 * @returns whether it has enough. Looked at again now and then, since a bound may come too early
 *   or too late.
 */
export function boundYoungHeap(): boolean {
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  const hasEnough = young !== undefined && young.physical_space_size >= ENOUGH;
  // The only one of V8's flags for this that takes effect in a running process; 2 is its default.
  setFlagsFromString(`--semi-space-growth-factor=${hasEnough ? 1 : 2}`);
  return hasEnough;
}
