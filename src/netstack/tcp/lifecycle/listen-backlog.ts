import { RateLimit } from '../../../net/time/rate-limit.ts';
import { Shares } from '../../../net/bounds/shares.ts';
import {
  DISPLACED_A_SECOND,
  FAR_MORE_DIALS,
  MAX_BACKLOG,
  MAX_BACKLOG_PER_ADDRESS,
} from '../limits.ts';

/** Where a connection comes from and where it goes, as primitive values. */
export interface Ends<Address, Network> {
  /** The client. */
  readonly address: Address;
  /** The network of its destination. */
  readonly network: Network;
}

interface Waiting<Address> {
  readonly address: Address;
  isAnswered: boolean;
}

/**
 * Connections that clients have requested and that are not established yet: first each waits for the dial
 * that decides about it, then, with its SYN-ACK sent, for the client's ACK. Bounded in total and for each
 * address, so that a flood of SYNs fills no memory.
 *
 * Where it is full the client that has the most gives way to others, with the oldest of what it has more of:
 * dials, of the network that most of them go to, or connections that wait for an ACK. A server that responds,
 * and a client that does, leave the backlog within a round trip.
 *
 * @typeParam Connection what waits.
 */
export class ListenBacklog<Connection, Address, Network> {
  readonly #waiting = new Map<Connection, Waiting<Address>>();
  readonly #all = new Shares<Connection, Address>();
  /** Those that wait for their dials: of each client, by destination. */
  readonly #dials = new Map<Address, Shares<Connection, Network>>();
  /** Those that wait for an ACK. */
  readonly #answered = new Shares<Connection, Address>();
  readonly #displaced = new RateLimit(DISPLACED_A_SECOND);
  readonly #most: number;
  readonly #mostPerAddress: number;

  constructor(
    most = MAX_BACKLOG,
    mostPerAddress = Math.min(MAX_BACKLOG_PER_ADDRESS, Math.max(1, most >> 1)),
  ) {
    this.#most = most;
    this.#mostPerAddress = mostPerAddress;
  }

  get size(): number {
    return this.#all.size;
  }

  /** Whether `add` has room for another connection of this address. */
  hasRoom(address: Address): boolean {
    return this.#all.size < this.#most && this.#all.countOf(address) < this.#mostPerAddress;
  }

  /** Whether a connection waits for its dial. */
  isDialling(connection: Connection): boolean {
    return this.#waiting.get(connection)?.isAnswered === false;
  }

  /**
   * The connection that gives way to a new one when there is no room; the caller ends and removes it.
   * `undefined` where the new one has no better claim, and too many gave way lately: drop its SYN.
   */
  victim({ address, network }: Ends<Address, Network>, now: number): Connection | undefined {
    return (
      this.heavier({ address, network }) ??
      (this.#displaced.take(now) ? this.#victimOf(this.#heaviestBeside(address)) : undefined)
    );
  }

  /**
   * The connection that gives way to a new one because its client has far more of them, or because far more
   * dials of the same client go to its network. `undefined` where there is no such client or network.
   */
  heavier({ address, network }: Ends<Address, Network>): Connection | undefined {
    const heaviest = this.#heaviestBeside(address);
    if (heaviest === undefined) return undefined;
    if (heaviest !== address) {
      const isFarHeavier = this.#all.countOf(heaviest) >= 2 * (this.#all.countOf(address) + 1);
      return isFarHeavier ? this.#victimOf(heaviest) : undefined;
    }
    const dials = this.#dials.get(address);
    if (dials === undefined || dials.size < this.#answered.countOf(address)) return undefined;
    const isFarHeavier = dials.most >= FAR_MORE_DIALS * (dials.countOf(network) + 1);
    return isFarHeavier ? dials.heaviest?.oldest : undefined;
  }

  /** A connection was requested. Only after `hasRoom`. */
  add(connection: Connection, { address, network }: Ends<Address, Network>): void {
    this.#waiting.set(connection, { address, isAnswered: false });
    this.#all.add(connection, address);
    let dials = this.#dials.get(address);
    if (dials === undefined) {
      dials = new Shares();
      this.#dials.set(address, dials);
    }
    dials.add(connection, network);
  }

  /** Its SYN-ACK was sent, or it was refused in silence: it does not wait for a dial any more. */
  answered(connection: Connection): void {
    const waiting = this.#waiting.get(connection);
    if (waiting === undefined || waiting.isAnswered) return;
    waiting.isAnswered = true;
    this.#removeDial(connection, waiting.address);
    this.#answered.add(connection, waiting.address);
  }

  /** It is established, or has ended. Idempotent. */
  remove(connection: Connection): void {
    const waiting = this.#waiting.get(connection);
    if (waiting === undefined) return;
    this.#waiting.delete(connection);
    this.#all.delete(connection);
    if (waiting.isAnswered) this.#answered.delete(connection);
    else this.#removeDial(connection, waiting.address);
  }

  #removeDial(connection: Connection, address: Address): void {
    const dials = this.#dials.get(address);
    dials?.delete(connection);
    if (dials?.size === 0) this.#dials.delete(address);
  }

  /** The client that is to give way to one of this address: itself, where it has as many as any other. */
  #heaviestBeside(address: Address): Address | undefined {
    const count = this.#all.countOf(address);
    if (count > 0 && (count >= this.#mostPerAddress || count === this.#all.most)) return address;
    return this.#all.heaviest?.holder;
  }

  #victimOf(address: Address | undefined): Connection | undefined {
    if (address === undefined) return undefined;
    const dials = this.#dials.get(address);
    const isDial = (dials?.size ?? 0) >= this.#answered.countOf(address);
    return isDial ? dials?.heaviest?.oldest : this.#answered.oldestOf(address);
  }
}
