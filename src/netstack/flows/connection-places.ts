import type { IpEndpoint } from '../../ip/ip-endpoint.ts';
import type { Drops } from '../drops.ts';
import { addressNumber, networkNumber } from '../ip/address-hash.ts';
import { PENDING_BESIDE_ESTABLISHED } from '../limits.ts';
import { ListenBacklog } from '../tcp/lifecycle/listen-backlog.ts';
import { EstablishedConnections } from './established-connections.ts';
import type { TcpFlow } from './tcp-flow.ts';

export interface ConnectionPlacesOptions {
  /** See `MAX_BACKLOG`. */
  readonly maxBacklog: number;
  readonly drops: Drops;
  /** All connections of the stack. */
  readonly connections: () => number;
  /** Whether there is room for another connection. */
  readonly hasRoom: () => boolean;
  /** Whether room is made as soon as another flow ends. */
  readonly endMakesRoom: () => boolean;
  /** Ends an association in favour of a connection of a client. @returns whether one gave way. */
  readonly makeRoom: (client: IpEndpoint, now: number) => boolean;
  /** Ends a connection that gives way. */
  readonly end: (flow: TcpFlow, now: number) => void;
}

/**
 * Which requests of clients get a place among the connections of a stack, and which connection gives way to
 * them.
 */
export class ConnectionPlaces {
  readonly #options: ConnectionPlacesOptions;
  readonly #backlog: ListenBacklog<TcpFlow, number, number>;
  readonly #established = new EstablishedConnections<TcpFlow, number>();
  /** The client and the destination of the current request. */
  readonly #ends = { address: 0, network: 0 };

  constructor(options: ConnectionPlacesOptions) {
    this.#options = options;
    this.#backlog = new ListenBacklog(options.maxBacklog);
  }

  /**
   * Finds a place for a request, which `add` takes. Another connection may end for it.
   * @returns `undefined` when a place was found, else why not.
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

  /** Adds the connection of the request that has found a place. */
  add(flow: TcpFlow): void {
    this.#backlog.add(flow, this.#ends);
  }

  /** The request was accepted: it waits for the ACK of its client. */
  onAccepted(flow: TcpFlow): void {
    this.#backlog.answered(flow);
  }

  /** The handshake of a connection is complete. @param isClients whether a client has requested it. */
  onEstablished(flow: TcpFlow, isClients: boolean): void {
    this.#backlog.remove(flow);
    if (isClients) this.#established.add(flow, addressNumber(flow.remote));
  }

  /** The handshake of a connection has failed. */
  onFailed(flow: TcpFlow): void {
    this.#backlog.remove(flow);
  }

  /** Idempotent. */
  delete(flow: TcpFlow): void {
    this.#backlog.remove(flow);
    this.#established.delete(flow);
  }

  /** Whether another flow gives way to the current request, where there are too many. */
  #makeRoom(client: IpEndpoint, now: number): boolean {
    const { endMakesRoom, makeRoom, hasRoom } = this.#options;
    if (!endMakesRoom()) return false;
    if (makeRoom(client, now)) return true;
    const victim = this.#backlog.heavier(this.#ends) ?? this.#crowding();
    return this.#displace(victim, now) && hasRoom();
  }

  /**
   * The established connection that gives way to the current request. The source of a request may be forged:
   * when many are pending, none of them ends an established connection.
   */
  #crowding(): TcpFlow | undefined {
    const mayEnd = this.#backlog.size < this.#options.connections() * PENDING_BESIDE_ESTABLISHED;
    return mayEnd ? this.#established.victim(this.#ends.address) : undefined;
  }

  #displace(victim: TcpFlow | undefined, now: number): boolean {
    if (victim === undefined) return false;
    const { drops, end } = this.#options;
    drops.add(this.#established.has(victim) ? 'gave way' : 'backlog', 0, now);
    // To a client whose dial is under way it is as if its SYN had been lost.
    if (this.#backlog.isDialling(victim)) victim.connection.refuse('silent', now);
    end(victim, now);
    return true;
  }
}
