/** Bytes of one read of one socket. */
const LEAST_BYTES = 64 << 10;
/** Bytes of a turn after quiet ones. */
const FIRST_BYTES = 128 << 10;
/** Bytes of a turn at most: about 2 ms of copying. */
const MOST_BYTES = 4 << 20;
/** How long a turn should take at most, with the work that its bytes cause, in milliseconds. */
const TURN_MS = 10;

/**
 * The bytes that all sockets together may move in one turn of the event loop before timers, the control API and
 * Node's sockets run.
 *
 * Relays copy at gigabytes a second, but peers can send what costs a hundred times as much to read, over many
 * connections at once. So a turn may move twice as much as the one before if that was quick, as long as there is
 * as much to move, and less after one that took too long.
 */
export class TurnBudget {
  readonly #now: () => number;
  #most = FIRST_BYTES;
  #left = FIRST_BYTES;
  #startedAt = 0;

  /** @param now milliseconds of a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Whether more bytes may be moved in this turn. */
  get mayMove(): boolean {
    return this.#left > 0;
  }

  /** Begins a turn. */
  begin(): void {
    this.#left = this.#most;
    this.#startedAt = this.#now();
  }

  /** Counts bytes that were moved in this turn. */
  move(bytes: number): void {
    this.#left -= bytes;
  }

  /** Called when all work that the bytes of a turn have caused is done. */
  end(): void {
    const moved = this.#most - this.#left;
    const took = this.#now() - this.#startedAt;
    if (took <= TURN_MS) {
      const wanted = Math.max(FIRST_BYTES, 2 * moved);
      this.#most = Math.min(2 * this.#most, wanted, MOST_BYTES);
    } else if (moved >= LEAST_BYTES) {
      this.#most = Math.max(LEAST_BYTES, moved * (TURN_MS / took));
    }
  }
}
