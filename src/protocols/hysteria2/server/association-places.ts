import { Shares } from '../../../net/bounds/shares.ts';
import { ASSOCIATIONS_A_CONNECTION, MOST_ASSOCIATIONS } from '../limits.ts';

/** An association that may be closed to make room for another. */
export interface Placed {
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
