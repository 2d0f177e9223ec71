import type { ProcessMemory } from './process-memory.ts';

/** Time between two looks, in milliseconds; the shorter one while connections have taken much memory. */
const LOOK_MS = 1_000;
const GROWN_LOOK_MS = 200;

/** Processor time, as a part of the time, up to which the process is at rest. */
const AT_REST = 0.1;
/** Rest before memory is released, in milliseconds: connections often come again after a moment. */
const RESTED_MS = 3_000;
/** Processor time since the last release that makes the next one worthwhile, in milliseconds. */
const WORTH_MS = 250;
/**
 * The same after the time of which a release takes one part in so many: connections may close with little
 * work, and the last release, while they were open, may have taken long.
 */
const RARELY_WORTH_MS = 50;
const RARE = 500;
const RARE_WHEN_GROWN = 100;
const MUCH_GROWN = 1.2;
/** A release that has returned this part of the resident memory is repeated after another rest, so often. */
const REPEATED = 0.1;
const REPETITIONS = 2;
/** The same, for what `malloc` got back. */
const TRIM_WORTH_MS = 100;
/** Releases and trims may take one part in this many of the processor time since the last ones. */
const SHARE = 5;

/** What `malloc` got back and is returned also while the process works, in bytes. */
const MUCH_FREED = 32 << 20;
/** Growth of the resident memory that makes it worthwhile to ask for that, in bytes. */
const GROWTH = 64 << 20;

/**
 * Returns memory to the system after a burst of connections. V8 and `malloc` keep what these have used:
 * V8 does not collect while nothing is allocated, and `malloc` returns only what is above the last piece
 * in use.
 *
 * When the process has worked and then rested for some seconds, its heap is collected, in steps, and what
 * `malloc` does not use is returned. Where `malloc` gets much back while the process works, that is
 * returned earlier, in portions that do not stop the process for long. Both are bounded by the
 * processor time that was used before, or to a hundredth of the time.
 */
export class MemoryKeeper {
  readonly #memory: ProcessMemory;
  /** At the last look. */
  #processorMs: number;
  /** The time since then, in milliseconds. */
  #interval = LOOK_MS;
  #hasLooked = false;
  #restedMs = 0;
  /** Processor time at the end of the last release; at first what the start has used is released. */
  #released = Number.NEGATIVE_INFINITY;
  /** Time since then, in milliseconds. */
  #sinceRelease = 0;
  /** Resident memory before the collection that is going on. */
  #collecting: number | undefined;
  /** How often the last release may still be repeated, because it has returned much. */
  #repetitions = 0;
  /** Processor time of the last release with its repetitions, and of the last trim. */
  #releaseMs = 0;
  #trimMs = 0;
  /** Processor time at the end of the last trim. */
  #trimmed: number;
  /** The least resident memory so far. */
  #resident: number;
  /** The least that was free since the last trim: so much of what is free now has been returned. */
  #leastFree = Number.POSITIVE_INFINITY;

  constructor(memory: ProcessMemory) {
    this.#memory = memory;
    this.#processorMs = this.#trimmed = memory.processorMs();
    this.#resident = memory.residentBytes();
  }

  /**
   * To be called first when the start is complete.
   * @returns the time until the next call, in milliseconds.
   */
  look(): number {
    const memory = this.#memory;
    if (!this.#hasLooked) {
      this.#hasLooked = true;
      // A third of the resident memory for 2 ms; the rest waits, because the first clients may come now.
      memory.forgetProgram('text');
    }
    const now = memory.processorMs();
    const used = now - this.#processorMs;
    this.#processorMs = now;
    this.#sinceRelease += this.#interval;
    if (this.#collecting !== undefined) {
      this.#endRelease(this.#collecting, used);
      return (this.#interval = LOOK_MS);
    }
    this.#restedMs = used <= AT_REST * this.#interval ? this.#restedMs + this.#interval : 0;
    const resident = memory.residentBytes();
    this.#resident = Math.min(this.#resident, resident);
    const isGrown = resident - this.#resident >= GROWTH;
    if (this.#restedMs < RESTED_MS) {
      if (isGrown) this.#trimMuch(now);
      // In a process that does nothing there is nothing to see.
      return (this.#interval = isGrown && this.#restedMs === 0 ? GROWN_LOOK_MS : LOOK_MS);
    }
    const rare = resident > MUCH_GROWN * this.#resident ? RARE_WHEN_GROWN : RARE;
    const isRare = this.#sinceRelease >= rare * this.#releaseMs;
    const worth = isRare ? RARELY_WORTH_MS : Math.max(WORTH_MS, SHARE * this.#releaseMs);
    const isWorth = now - this.#released >= worth;
    if (isWorth || this.#repetitions > 0) {
      if (isWorth) this.#releaseMs = 0;
      this.#repetitions = isWorth ? REPETITIONS : this.#repetitions - 1;
      this.#collecting = resident;
      memory.startCollection();
    }
    return (this.#interval = LOOK_MS);
  }

  /** @param used processor time since its start, in milliseconds. */
  #endRelease(before: number, used: number): void {
    const memory = this.#memory;
    const now = this.#processorMs;
    this.#collecting = undefined;
    this.#restedMs = this.#sinceRelease = 0;
    memory.endCollection();
    this.#trim();
    memory.forgetProgram('all');
    const resident = memory.residentBytes();
    this.#resident = Math.min(this.#resident, resident);
    this.#leastFree = Number.POSITIVE_INFINITY;
    this.#released = this.#processorMs = memory.processorMs();
    // With the steps of the collection, some of which other threads have made.
    this.#releaseMs += used + this.#released - now;
    if (before - resident <= REPEATED * before) this.#repetitions = 0;
  }

  #trimMuch(now: number): void {
    const free = this.#memory.freeBytes();
    this.#leastFree = Math.min(this.#leastFree, free);
    if (free - this.#leastFree < MUCH_FREED) return;
    if (now - this.#trimmed < Math.max(TRIM_WORTH_MS, SHARE * this.#trimMs)) return;
    this.#trim();
    this.#leastFree = free;
  }

  #trim(): void {
    const memory = this.#memory;
    const before = memory.processorMs();
    memory.trim();
    this.#trimmed = memory.processorMs();
    this.#trimMs = this.#trimmed - before;
  }
}
