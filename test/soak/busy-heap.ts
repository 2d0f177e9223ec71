import { setTimeout as sleep } from 'node:timers/promises';
import type { Inspector } from './inspector.ts';

/** What a Node process that works has in memory, in bytes. */
export interface BusyHeap {
  /** Objects, strings and what V8 knows of them. */
  readonly heap: number;
  /**
   * Compiled code with its tables. V8 compiles one function after the other as they become hot, for hours, and drops
   * what has not run for some collections: it grows without a leak, as long as there are functions left.
   */
  readonly code: number;
  readonly external: number;
}

/**
 * The least of these counts: any of them may find the bytes of a list of flows that is on its way, and the first finds
 * what finalizers have not freed yet.
 */
const LOOKS = 8;
/** Not a part of the second that passes between two lists. */
const BETWEEN_MS = 370;

/** V8 has code and its tables in spaces of their own: those of trusted objects have bytecode. */
const SIZES = `(() => {
  const spaces = process.getBuiltinModule('node:v8').getHeapSpaceStatistics();
  const sizes = { heap: 0, code: 0, external: process.memoryUsage().external };
  for (const { space_name: name, space_used_size: size } of spaces) {
    sizes[/code|trusted/.test(name) ? 'code' : 'heap'] += size;
  }
  return sizes;
})()`;

/** Looks at a process several times, each time after a collection of its garbage. */
export async function busyHeapOf(inspector: Inspector): Promise<BusyHeap> {
  const looks: BusyHeap[] = [];
  while (looks.length < LOOKS) {
    await inspector.collectGarbage();
    looks.push((await inspector.evaluate(SIZES)) as BusyHeap);
    await sleep(BETWEEN_MS);
  }
  return looks.reduce((least, look) => (look.heap < least.heap ? look : least));
}
