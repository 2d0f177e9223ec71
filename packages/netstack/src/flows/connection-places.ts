import { ChurnMap } from '@weir/base/collections';
import { RateLimit } from '@weir/io/pace';
import { Shares } from '@weir/io/bounds';
import {
  DISPLACED_A_SECOND,
  FAR_MORE_DIALS,
  MAX_BACKLOG,
  MAX_BACKLOG_PER_ADDRESS,
  FAR_MORE_CONNECTIONS,
  PENDING_BESIDE_ESTABLISHED,
} from '../limits.ts';
import type { IpEndpoint } from '@weir/base/ip';
import type { Drops } from '../trace.ts';
import { addressNumber, networkNumber } from '../ip/address-hash.ts';
import type { TcpFlow } from './tcp-flow.ts';

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
  readonly #waiting = new ChurnMap<Connection, Waiting<Address>>();
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

/** Connections that are examined for the one to evict. */
const LOOKS = 8;

/**
 * Established connections by their clients. When they use up all flows, the client with the most loses one to a client
 * that has far fewer: the connection that was silent for the longest time, among the `LOOKS` least recently examined.
 */
class EstablishedConnections {
  /** The connections of each client, by its `addressNumber`. */
  readonly #shares = new Shares<TcpFlow, number>();

  /** Adds a connection that was not added before. */
  add(flow: TcpFlow, client: number): void {
    this.#shares.add(flow, client);
  }

  has(flow: TcpFlow): boolean {
    return this.#shares.has(flow);
  }

  /** Removes a connection. Idempotent. */
  delete(flow: TcpFlow): void {
    this.#shares.delete(flow);
  }

  /** Returns the connection to evict for a new one; the caller ends and deletes it. */
  victim(client: number): TcpFlow | undefined {
    const shares = this.#shares;
    if (shares.most < FAR_MORE_CONNECTIONS * (shares.countOf(client) + 1)) return undefined;
    const holder = shares.heaviest?.holder;
    let victim: TcpFlow | undefined;
    for (let look = 0; holder !== undefined && look < LOOKS; look++) {
      const flow = shares.oldestOf(holder);
      if (flow === undefined) break;
      if (victim === undefined || flow.connection.heardAt < victim.connection.heardAt)
        victim = flow;
      shares.renew(flow);
    }
    return victim;
  }
}

export interface ConnectionPlacesOptions {
  /** The bound of pending connections; see `MAX_BACKLOG`. */
  readonly maxBacklog: number;
  readonly drops: Drops;
  /** Returns the number of all connections of the stack. */
  readonly connections: () => number;
  /** Returns whether there is room for another connection. */
  readonly hasRoom: () => boolean;
  /** Returns whether there will be room as soon as another flow ends. */
  readonly endMakesRoom: () => boolean;
  /** Ends an association in favour of a connection of a client. @returns whether one was evicted. */
  readonly makeRoom: (client: IpEndpoint, now: number) => boolean;
  /** Ends an evicted connection. */
  readonly end: (flow: TcpFlow, now: number) => void;
}

/**
 * Decides which requests of clients are admitted among the connections of a stack, and which connection is evicted for
 * them.
 */
export class ConnectionPlaces {
  readonly #options: ConnectionPlacesOptions;
  readonly #backlog: ListenBacklog<TcpFlow, number, number>;
  readonly #established = new EstablishedConnections();
  /** The client and the destination of the current request. */
  readonly #ends = { address: 0, network: 0 };

  constructor(options: ConnectionPlacesOptions) {
    this.#options = options;
    this.#backlog = new ListenBacklog(options.maxBacklog);
  }

  /**
   * Admits a request, which `add` then adds. Another connection may be evicted for it.
   * @returns `undefined` when the request was admitted, otherwise the reason why not.
   */
  find(
    client: IpEndpoint,
    destination: IpEndpoint,
    now: number,
  ): 'flow limit' | 'backlog' | undefined {
    const ends = this.#ends;
    ends.address = addressNumber(client);
    ends.network = networkNumber(destination);
    if (!this.#options.hasRoom() && !this.#makeRoom(client, now)) return 'flow limit';
    const hasPlace =
      this.#backlog.hasRoom(ends.address) || this.#displace(this.#backlog.victim(ends, now), now);
    return hasPlace ? undefined : 'backlog';
  }

  /** Adds the connection of the admitted request. */
  add(flow: TcpFlow): void {
    this.#backlog.add(flow, this.#ends);
  }

  /** Called when the request was accepted: it waits for the ACK of its client. */
  onAccepted(flow: TcpFlow): void {
    this.#backlog.answered(flow);
  }

  /**
   * Called when the handshake of a connection is complete.
   *
   * @param isClients whether a client has requested the connection.
   */
  onEstablished(flow: TcpFlow, isClients: boolean): void {
    this.#backlog.remove(flow);
    if (isClients) this.#established.add(flow, addressNumber(flow.remote));
  }

  /** Called when the handshake of a connection has failed. */
  onFailed(flow: TcpFlow): void {
    this.#backlog.remove(flow);
  }

  /** Removes a connection. Idempotent. */
  delete(flow: TcpFlow): void {
    this.#backlog.remove(flow);
    this.#established.delete(flow);
  }

  /** Evicts another flow for the current request, if there are too many. Returns whether one was evicted. */
  #makeRoom(client: IpEndpoint, now: number): boolean {
    const { endMakesRoom, makeRoom, hasRoom } = this.#options;
    if (!endMakesRoom()) return false;
    if (makeRoom(client, now)) return true;
    const victim = this.#backlog.heavier(this.#ends) ?? this.#crowding();
    return this.#displace(victim, now) && hasRoom();
  }

  /**
   * Returns the established connection to evict for the current request. The source of a request may be forged: when
   * many are pending, none of them ends an established connection.
   */
  #crowding(): TcpFlow | undefined {
    const mayEnd = this.#backlog.size < this.#options.connections() * PENDING_BESIDE_ESTABLISHED;
    return mayEnd ? this.#established.victim(this.#ends.address) : undefined;
  }

  #displace(victim: TcpFlow | undefined, now: number): boolean {
    if (victim === undefined) return false;
    const { drops, end } = this.#options;
    drops.add(this.#established.has(victim) ? 'evicted' : 'backlog', 0, now);
    // To a client whose dial is in progress this looks as if its SYN had been lost.
    if (this.#backlog.isDialling(victim)) victim.connection.refuse('silent', now);
    end(victim, now);
    return true;
  }
}
