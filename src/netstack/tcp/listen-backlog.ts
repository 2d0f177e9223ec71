import { RateLimit } from '../../net/time/rate-limit.ts';
import { Shares } from '../../net/bounds/shares.ts';
import {
  DISPLACED_A_SECOND,
  FAR_MORE_DIALS,
  MAX_BACKLOG,
  MAX_BACKLOG_PER_ADDRESS,
} from '../limits.ts';

/** The client and the destination of a connection, as primitive values. */
export interface Ends<Address, Network> {
  /** The client. */
  readonly address: Address;
  /** The network of the destination. */
  readonly network: Network;
}

interface Waiting<Address> {
  readonly address: Address;
  isAnswered: boolean;
}

/**
 * Requested connections that are not established yet. Each waits first for the dial to its destination, then,
 * with its SYN-ACK sent, for the client's ACK. Bounded in total and for each client address, so that a flood of
 * SYNs does not exhaust memory.
 *
 * When it is full, the client with the most connections loses one: of its dials and its connections that wait
 * for an ACK, the oldest of the larger group, among dials of the network with the most. Connections between
 * clients and servers that respond leave the backlog within a round trip.
 */
export class ListenBacklog<Connection, Address, Network> {
  readonly #waiting = new Map<Connection, Waiting<Address>>();
  readonly #all = new Shares<Connection, Address>();
  /** Connections that wait for their dials: for each client, by network. */
  readonly #dials = new Map<Address, Shares<Connection, Network>>();
  /** Connections that wait for an ACK, by client address. */
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

  /** Whether there is room for another connection of this address. */
  hasRoom(address: Address): boolean {
    return this.#all.size < this.#most && this.#all.countOf(address) < this.#mostPerAddress;
  }

  /** Whether a connection is waiting for its dial. */
  isDialling(connection: Connection): boolean {
    return this.#waiting.get(connection)?.isAnswered === false;
  }

  /**
   * Returns the connection to be displaced by a new one when there is no room; the caller ends and removes it.
   * `undefined` if the new one has no priority and `DISPLACED_A_SECOND` is used up: its SYN must be dropped.
   */
  victim({ address, network }: Ends<Address, Network>, now: number): Connection | undefined {
    return (
      this.heavier({ address, network }) ??
      (this.#displaced.take(now) ? this.#victimOf(this.#heaviestBeside(address)) : undefined)
    );
  }

  /**
   * Returns the connection to be displaced by a new one that has priority: its client has far more connections, or its
   * network far more dials of the same client. `undefined` if there is no such client or network.
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

  /** Adds a requested connection. Requires `hasRoom`. */
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

  /** Called when the dial has ended: the SYN-ACK was sent, or the connection was refused silently. */
  answered(connection: Connection): void {
    const waiting = this.#waiting.get(connection);
    if (waiting === undefined || waiting.isAnswered) return;
    waiting.isAnswered = true;
    this.#removeDial(connection, waiting.address);
    this.#answered.add(connection, waiting.address);
  }

  /** Removes a connection that is established, or has ended. Idempotent. */
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

  /**
   * Returns the client that loses a connection to one of this address: this client itself, if it has as many as any
   * other.
   */
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
