import { getHeapStatistics } from 'node:v8';
import type { ResourceLimits } from 'node:worker_threads';

const MIB = 1024 * 1024;

/**
 * Limit of the old generation of the thread's heap in MiB: enough for configurations of some 80 MB. With a larger limit
 * V8 collects only at four times the size of the live objects, with this one at twice.
 */
const MAX_OLD_GENERATION = 2000;

/** Limit of the young generation in MiB: room for the short-lived syntax trees of some slices. */
const MAX_YOUNG_GENERATION = 16;

/** Limits of the thread's heap, none above that of the process. */
export function threadLimits(): ResourceLimits {
  const own = Math.floor(getHeapStatistics().heap_size_limit / MIB);
  return {
    maxOldGenerationSizeMb: Math.min(own, MAX_OLD_GENERATION),
    maxYoungGenerationSizeMb: MAX_YOUNG_GENERATION,
  };
}
