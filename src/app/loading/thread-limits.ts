import { getHeapStatistics } from 'node:v8';
import type { ResourceLimits } from 'node:worker_threads';

const MIB = 1024 * 1024;

/**
 * MiB of the old generation of the thread's heap: enough for configurations of some 80 MB. With more V8
 * lets a heap grow to four times what is alive before it collects, with this to twice.
 */
const MAX_OLD_GENERATION = 2000;

/** MiB of the young one: room for the syntax trees of some slices, which are garbage at once. */
const MAX_YOUNG_GENERATION = 16;

/** The bounds of the thread's heap, none above those of this process's own. */
export function threadLimits(): ResourceLimits {
  const own = Math.floor(getHeapStatistics().heap_size_limit / MIB);
  return {
    maxOldGenerationSizeMb: Math.min(own, MAX_OLD_GENERATION),
    maxYoungGenerationSizeMb: MAX_YOUNG_GENERATION,
  };
}
