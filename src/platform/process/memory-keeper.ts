import type { ProcessMemory } from './process-memory.ts';

/** How often to call `look`, in milliseconds. */
export const MEMORY_LOOK_MS = 1_000;

/** Processor time between two looks up to which the process is at rest, in milliseconds. */
const AT_REST_MS = 100;
/** Looks at rest before memory is released: connections often come again after a moment. */
const RESTED_LOOKS = 3;
/** Processor time since the last release that makes the next one worthwhile, in milliseconds. */
const WORTH_MS = 250;
/** A release may take one part in this many of the processor time since the last one. */
const SHARE = 10;

/** What `malloc` got back and is returned also while the process works, in bytes. */
const MUCH_FREED = 48 << 20;
/** Growth of the resident memory that makes it worthwhile to ask for that, in bytes. */
const GROWTH = 32 << 20;

/**
 * Returns memory to the system after a burst of connections. V8 and `malloc` keep what these have used:
 * V8 does not collect while nothing is allocated, and `malloc` returns only what is above the last piece
 * in use.
 *
 * When the process has worked and then rested for some seconds, its heap is collected, in steps, and what
 * `malloc` does not use is returned, once. Where `malloc` gets much back while the process works, that is
 * returned earlier, in portions that do not stop the process for long. Both are bounded by the processor time that was used before.
 */
export class MemoryKeeper {
  readonly #memory: ProcessMemory;
  /** At the last look. */
  #processorMs: number;
  #restedLooks = 0;
  /** At the end of the last release; none yet at first, so that what the start has used is released. */
  #released = Number.NEGATIVE_INFINITY;
  #isCollecting = false;
  /** Processor time of the last release, and of the last trim. */
  #releaseMs = 0;
  #trimMs = 0;
  /** At the end of the last trim: processor time, and resident memory. */
  #trimmed: number;
  #resident: number;
  /** The least that was free since then: so much of what is free now has been returned. */
  #leastFree = Number.POSITIVE_INFINITY;

  constructor(memory: ProcessMemory) {
    this.#memory = memory;
    this.#processorMs = this.#trimmed = memory.processorMs();
    this.#resident = memory.residentBytes();
  }

  /** To be called every `MEMORY_LOOK_MS`. */
  look(): void {
    const memory = this.#memory;
    const now = memory.processorMs();
    const used = now - this.#processorMs;
    this.#processorMs = now;
    if (this.#isCollecting) {
      this.#isCollecting = false;
      memory.endCollection();
      this.#trim();
      memory.forgetProgramPages();
      this.#released = this.#processorMs = memory.processorMs();
      // With the steps of the collection, some of which other threads have made.
      this.#releaseMs = used + this.#released - now;
      return;
    }
    this.#restedLooks = used <= AT_REST_MS ? this.#restedLooks + 1 : 0;
    const since = now - this.#released;
    if (this.#restedLooks < RESTED_LOOKS) this.#trimMuch(now);
    else if (since >= Math.max(WORTH_MS, SHARE * this.#releaseMs)) {
      this.#isCollecting = true;
      memory.startCollection();
    }
  }

  #trimMuch(now: number): void {
    const memory = this.#memory;
    const resident = memory.residentBytes();
    this.#resident = Math.min(this.#resident, resident);
    if (resident - this.#resident < GROWTH) return;
    const free = memory.freeBytes();
    this.#leastFree = Math.min(this.#leastFree, free);
    if (free - this.#leastFree < MUCH_FREED) return;
    if (now - this.#trimmed >= Math.max(WORTH_MS, SHARE * this.#trimMs)) this.#trim();
  }

  #trim(): void {
    const memory = this.#memory;
    const before = memory.processorMs();
    memory.trim();
    this.#trimmed = memory.processorMs();
    this.#trimMs = this.#trimmed - before;
    this.#resident = memory.residentBytes();
    this.#leastFree = Number.POSITIVE_INFINITY;
  }
}
