/** The smallest budget of a turn in bytes: one read of one socket. */
const LEAST_BYTES = 64 << 10;
/** The budget of a turn after quiet ones, in bytes. */
const FIRST_BYTES = 128 << 10;
/** The largest budget of a turn in bytes: about 2 ms of copying. */
const MOST_BYTES = 4 << 20;
/** Milliseconds that a turn should take at most, with the work that its bytes cause. */
const TURN_MS = 10;

/** Clocks in milliseconds. */
export interface TurnClocks {
  /** Returns the time of a monotonic clock. */
  readonly now: () => number;
  /** Returns the processor time of this thread. */
  readonly processor: () => number;
}

const CLOCKS: TurnClocks = {
  now: () => performance.now(),
  processor: () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  },
};

/**
 * The bytes that all sockets together may move in one turn of the event loop before timers, the control API and Node's
 * sockets run.
 *
 * Relays copy gigabytes per second, but peers can send data that costs a hundred times as much to read, over many
 * connections at once. A turn may therefore move twice as much as the previous one if that was quick, as long as there
 * is as much to move, and less after one that took too long.
 */
export class TurnBudget {
  readonly #clocks: TurnClocks;
  #most = FIRST_BYTES;
  #left = FIRST_BYTES;
  #startedAt = 0;
  /** Processor time at the start of the turn, if the turn may move much. */
  #processorAt: number | undefined;

  constructor(clocks: TurnClocks = CLOCKS) {
    this.#clocks = clocks;
  }

  /** Whether more bytes may be moved in this turn. */
  get mayMove(): boolean {
    return this.#left > 0;
  }

  /** Begins a turn. */
  begin(): void {
    this.#left = this.#most;
    this.#startedAt = this.#clocks.now();
    // Costs 1 us, which only turns of many bytes are worth.
    this.#processorAt = this.#most > FIRST_BYTES ? this.#clocks.processor() : undefined;
  }

  /** Lets one more socket move bytes in this turn. */
  allow(): void {
    if (this.#left <= 0) this.#left = 1;
  }

  /** Counts bytes that were moved in this turn. */
  move(bytes: number): void {
    this.#left -= bytes;
  }

  /** Called when all work caused by the bytes of a turn is done. */
  end(): void {
    const moved = this.#most - this.#left;
    const took = this.#took();
    if (took <= TURN_MS) {
      const wanted = Math.max(FIRST_BYTES, 2 * moved);
      this.#most = Math.min(2 * this.#most, wanted, MOST_BYTES);
    } else if (moved >= LEAST_BYTES) {
      this.#most = Math.max(LEAST_BYTES, moved * (TURN_MS / took));
    }
  }

  /**
   * Returns the milliseconds that the turn took. A relay that waits for the processor is not slow: only processor time
   * counts.
   */
  #took(): number {
    const elapsed = this.#clocks.now() - this.#startedAt;
    if (elapsed <= TURN_MS || this.#processorAt === undefined) return elapsed;
    return Math.min(elapsed, this.#clocks.processor() - this.#processorAt);
  }
}
