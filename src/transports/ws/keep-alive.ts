import type { Clock, Timer } from '../../net/time/clock.ts';
import { KEEP_ALIVE_LOOK_MS } from '../limits.ts';

/** A connection whose activity is checked periodically. */
export interface Silent {
  /** Sends a Ping if the connection was silent for long enough. Must not throw. */
  look(): void;
}

/** Number of slots of the interval, so that thousands of silent connections do not send in the same turn. */
const SLOTS = 30;

/**
 * Checks each connection once every KEEP_ALIVE_LOOK_MS: reverse proxies close a WebSocket after a minute of silence
 * (nginx, `proxy_read_timeout`) or a little more. One timer serves all connections, and none runs without connections;
 * a chunk causes no call of the clock.
 */
export class KeepAlive {
  static readonly #ofClocks = new WeakMap<Clock, KeepAlive>();
  readonly #clock: Clock;
  readonly #slots = Array.from({ length: SLOTS }, () => new Set<Silent>());
  #size = 0;
  #next = 0;
  #timer: Timer | undefined;

  private constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the instance for all connections on a clock. */
  static of(clock: Clock): KeepAlive {
    let one = this.#ofClocks.get(clock);
    if (!one) this.#ofClocks.set(clock, (one = new KeepAlive(clock)));
    return one;
  }

  /** Adds a connection. The returned function removes it; idempotent. */
  add(connection: Silent): () => void {
    // The slot that was visited last, so that the first check follows after a whole interval.
    const slot = this.#slots[(this.#next + SLOTS - 1) % SLOTS];
    slot?.add(connection);
    this.#size++;
    this.#arm();
    return () => {
      if (!slot?.delete(connection) || --this.#size > 0) return;
      this.#timer?.cancel();
      this.#timer = undefined;
    };
  }

  #arm(): void {
    this.#timer ??= this.#clock.after(KEEP_ALIVE_LOOK_MS / SLOTS, this.#visit);
  }

  readonly #visit = (): void => {
    this.#timer = undefined;
    const slot = this.#slots[this.#next];
    this.#next = (this.#next + 1) % SLOTS;
    this.#arm();
    for (const connection of slot ?? []) connection.look();
  };
}
