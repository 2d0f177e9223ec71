/**
 * Bytes that all sockets together may move in one turn of the event loop before timers, the control
 * API and Node's sockets run: about 2 ms of copying.
 */
const MOST_BYTES = 4 << 20;
/** One read of one socket. */
const LEAST_BYTES = 64 << 10;
/** How long a turn should take at most, with the work that its bytes cause, in milliseconds. */
const TURN_MS = 10;

/**
 * The bytes that may be moved in one turn of the event loop. Relays copy at gigabytes a second, but peers can send
 * what costs a hundred times as much to read, over many connections at once: when a turn took too long, the next
 * ones move less.
 */
export class TurnBudget {
  readonly #now: () => number;
  #most = MOST_BYTES;
  #left = MOST_BYTES;
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

  /** Called when all work that the bytes of a turn have caused is done. A turn that moved little says nothing. */
  end(): void {
    const moved = this.#most - this.#left;
    if (moved < LEAST_BYTES) return;
    const took = this.#now() - this.#startedAt;
    if (took > TURN_MS) this.#most = Math.max(LEAST_BYTES, moved * (TURN_MS / took));
    else if (took < TURN_MS / 2) this.#most = Math.min(MOST_BYTES, this.#most * 2);
  }
}
