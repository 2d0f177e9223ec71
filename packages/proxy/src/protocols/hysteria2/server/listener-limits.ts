import { type Clock, type Timer, HANDSHAKE_MS } from '@weir/io/time';
import { Shares } from '@weir/io/bounds';
import {
  MOST_WAITING_REQUESTS,
  WAITING_REQUESTS_A_CONNECTION,
  ASSOCIATIONS_A_CONNECTION,
  MOST_ASSOCIATIONS,
} from '../limits.ts';

/**
 * The circuits of one listener: TCP streams and UDP associations of all its clients, bounded
 * together.
 */
export class Circuits {
  #limit: number;
  #open = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get count(): number {
    return this.#open;
  }

  get limit(): number {
    return this.#limit;
  }

  /** The largest number of circuits; applies to those opened from now on. */
  set limit(limit: number) {
    this.#limit = limit;
  }

  /** Counts another circuit. @returns whether there was room for it. */
  open(): boolean {
    if (this.#open >= this.#limit) return false;
    this.#open++;
    return true;
  }

  /** Called once for each circuit that was opened. */
  close(): void {
    this.#open--;
  }
}

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

/** An association that may be closed to make room for another. */
interface Placed {
  /** Time at which the association last sent or received a datagram, on the clock. */
  readonly lastActive: number;
  close(): void;
}

/** Associations that are examined in search of an idle one. */
const LOOKS = 8;

/**
 * The associations of all clients of a listener, each of which costs a descriptor. Beyond a limit one is closed for the
 * newest: one of the same connection, or of the account that has the most. Chosen is the oldest that was not used since
 * it was last examined; when LOOKS of them were used, the oldest of these.
 */
export class AssociationPlaces {
  readonly #byConnection = new Shares<Placed, number>();
  readonly #byAccount = new Shares<Placed, string>();
  /** `lastActive` of each association when it was last examined. */
  readonly #seen = new Map<Placed, number>();

  get count(): number {
    return this.#seen.size;
  }

  /**
   * Adds an association, after making room for it.
   *
   * @param connection the number of its connection.
   * @param account the account whose share it counts in.
   */
  take(association: Placed, connection: number, account: string): void {
    const { size } = this.#byAccount;
    if (this.#byConnection.countOf(connection) >= ASSOCIATIONS_A_CONNECTION) {
      this.#close(this.#byConnection, () => this.#byConnection.oldestOf(connection));
    } else if (size >= MOST_ASSOCIATIONS) {
      this.#close(this.#byAccount, () => this.#byAccount.heaviest?.oldest);
    }
    this.#seen.set(association, association.lastActive);
    this.#byConnection.add(association, connection);
    this.#byAccount.add(association, account);
  }

  /** Removes an association. Idempotent. */
  release(association: Placed): void {
    if (!this.#seen.delete(association)) return;
    this.#byConnection.delete(association);
    this.#byAccount.delete(association);
  }

  #close<Holder>(shares: Shares<Placed, Holder>, oldest: () => Placed | undefined): void {
    let victim = oldest();
    for (let look = 0; look < LOOKS && victim && this.#wasUsed(victim); look++) {
      shares.renew(victim);
      victim = oldest();
    }
    if (!victim) return;
    this.release(victim);
    victim.close();
  }

  #wasUsed(association: Placed): boolean {
    const { lastActive } = association;
    if (lastActive === this.#seen.get(association)) return false;
    this.#seen.set(association, lastActive);
    return true;
  }
}
