import { AgedSet } from '../aged-set.ts';
import { MAX_BACKLOG, MAX_BACKLOG_PER_ADDRESS } from './limits.ts';

interface Waiting<Address> {
  readonly address: Address;
  answered: boolean;
}

/**
 * Connections that clients have requested and that are not established yet: first each waits for the dial
 * that decides about it, then, with its SYN-ACK sent, for the client's ACK. Bounded in total and for each
 * address, so that a flood of SYNs neither fills the memory nor, from one address, keeps others out.
 *
 * @typeParam Connection what waits.
 * @typeParam Address the client, as a primitive value.
 */
export class Backlog<Connection, Address> {
  readonly #waiting = new Map<Connection, Waiting<Address>>();
  /** Those that wait for an ACK, by address, oldest first. */
  readonly #answered = new Map<Address, AgedSet<Connection>>();
  readonly #byAddress = new Map<Address, number>();
  /** Those that wait for an ACK, oldest first. */
  readonly #oldest = new AgedSet<Connection>();
  readonly #most: number;
  readonly #mostPerAddress: number;

  constructor(most = MAX_BACKLOG, mostPerAddress = MAX_BACKLOG_PER_ADDRESS) {
    this.#most = most;
    this.#mostPerAddress = mostPerAddress;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Whether `add` has room for another connection of this address. */
  hasRoom(address: Address): boolean {
    return this.#waiting.size < this.#most && this.#of(address) < this.#mostPerAddress;
  }

  /**
   * The connection that gives way when there is no room: the oldest that the client has not acknowledged
   * (of this address, where its own bound is reached). An honest client acknowledges within a round trip;
   * the ACK of one that gave way gets a RST. `undefined` when all wait for their dials: drop the SYN.
   * The caller ends and removes it.
   */
  victim(address: Address): Connection | undefined {
    const candidates =
      this.#of(address) < this.#mostPerAddress ? this.#oldest : this.#answered.get(address);
    return candidates?.oldest;
  }

  /** A connection was requested. Only after `hasRoom`. */
  add(connection: Connection, address: Address): void {
    this.#waiting.set(connection, { address, answered: false });
    this.#byAddress.set(address, this.#of(address) + 1);
  }

  /** Its SYN-ACK was sent, or it was refused in silence: it does not wait for a dial any more. */
  answered(connection: Connection): void {
    const waiting = this.#waiting.get(connection);
    if (waiting === undefined || waiting.answered) return;
    waiting.answered = true;
    this.#oldest.add(connection);
    let ofAddress = this.#answered.get(waiting.address);
    if (ofAddress === undefined) {
      ofAddress = new AgedSet();
      this.#answered.set(waiting.address, ofAddress);
    }
    ofAddress.add(connection);
  }

  /** It is established, or has ended. Idempotent. */
  remove(connection: Connection): void {
    const waiting = this.#waiting.get(connection);
    if (waiting === undefined) return;
    const { address } = waiting;
    this.#waiting.delete(connection);
    this.#oldest.delete(connection);
    const ofAddress = this.#answered.get(address);
    ofAddress?.delete(connection);
    if (ofAddress?.size === 0) this.#answered.delete(address);
    const left = this.#of(address) - 1;
    if (left === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, left);
  }

  #of(address: Address): number {
    return this.#byAddress.get(address) ?? 0;
  }
}
