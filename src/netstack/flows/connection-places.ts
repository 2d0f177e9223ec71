import { Shares } from '../../net/bounds/shares.ts';
import { FAR_MORE_CONNECTIONS, PENDING_BESIDE_ESTABLISHED } from '../limits.ts';
import type { IpEndpoint } from '../../ip/ip-endpoint.ts';
import type { Drops } from '../trace.ts';
import { addressNumber, networkNumber } from '../ip/address-hash.ts';
import { ListenBacklog } from '../tcp/listen-backlog.ts';
import type { TcpFlow } from './tcp-flow.ts';

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
   * Called when the handshake of a connection is complete. @param isClients whether a client has requested the
   * connection.
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
    drops.add(this.#established.has(victim) ? 'gave way' : 'backlog', 0, now);
    // To a client whose dial is in progress this looks as if its SYN had been lost.
    if (this.#backlog.isDialling(victim)) victim.connection.refuse('silent', now);
    end(victim, now);
    return true;
  }
}
