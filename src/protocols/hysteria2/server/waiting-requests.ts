import type { Clock, Timer } from '../../../net/time/clock.ts';
import { Shares } from '../../../net/bounds/shares.ts';
import { HANDSHAKE_MS } from '../../../net/time/time-limits.ts';
import { MOST_WAITING_REQUESTS, WAITING_REQUESTS_A_CONNECTION } from '../limits.ts';

interface Waiting {
  readonly since: number;
  readonly giveUp: () => void;
}

/**
 * Streams of all clients of a listener whose request is incomplete, for at most HANDSHAKE_MS each. Beyond a limit the
 * oldest one is rejected: one of the same connection, or of the connection that has the most.
 *
 * All have the same time limit, so that one timer for the oldest suffices.
 */
export class WaitingRequests {
  readonly #clock: Clock;
  /** Waiting requests in order of arrival. */
  readonly #all = new Set<Waiting>();
  readonly #shares = new Shares<Waiting, number>();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#all.size;
  }

  /**
   * @param connection the number of its connection.
   * @param giveUp called at the time limit, or when the request is evicted; may end the wait itself.
   * @returns a function that ends the wait; idempotent.
   */
  add(connection: number, giveUp: () => void): () => void {
    if (this.#shares.countOf(connection) >= WAITING_REQUESTS_A_CONNECTION) {
      this.#giveUp(this.#shares.oldestOf(connection));
    } else if (this.#all.size >= MOST_WAITING_REQUESTS) {
      this.#giveUp(this.#shares.heaviest?.oldest);
    }
    const waiting = { since: this.#clock.now(), giveUp };
    this.#all.add(waiting);
    this.#shares.add(waiting, connection);
    this.#timer ??= this.#arm(HANDSHAKE_MS);
    return () => this.#end(waiting);
  }

  #giveUp(waiting: Waiting | undefined): void {
    if (waiting === undefined) return;
    this.#end(waiting);
    waiting.giveUp();
  }

  #end(waiting: Waiting): void {
    if (!this.#all.delete(waiting)) return;
    this.#shares.delete(waiting);
    if (this.#all.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(milliseconds: number): Timer {
    return this.#clock.after(milliseconds, () => {
      this.#timer = undefined;
      const now = this.#clock.now();
      for (const waiting of this.#all) {
        const left = waiting.since + HANDSHAKE_MS - now;
        if (left > 0) {
          this.#timer ??= this.#arm(left);
          return;
        }
        this.#giveUp(waiting);
      }
    });
  }
}
