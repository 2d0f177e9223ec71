import { isIPv4Endpoint, type IpEndpoint } from '../../../ip/ip-endpoint.ts';
import { Shares } from '../../../net/bounds/shares.ts';
import {
  MAX_UNAUTHENTICATED,
  MAX_UNAUTHENTICATED_OF_SOURCE,
  UNAUTHENTICATED_STAY,
} from '../../limits.ts';

/**
 * The clients whose handshake is not complete or that have not authenticated themselves. When there are too many, a new
 * one replaces the oldest one of the source with the most, so that no source excludes the others. A client of a source
 * with as many as the new one's is replaced only after `UNAUTHENTICATED_STAY`.
 */
export class UnauthenticatedClients<Client> {
  readonly #shares = new Shares<Client, string>();
  /** Time at which each client appeared, in milliseconds. */
  readonly #since = new Map<Client, number>();

  get count(): number {
    return this.#since.size;
  }

  add(client: Client, peer: IpEndpoint, now: number): void {
    this.#shares.add(client, sourceOf(peer));
    this.#since.set(client, now);
  }

  /** Removes a client that has authenticated itself, or has ended. Idempotent. */
  delete(client: Client): void {
    if (this.#since.delete(client)) this.#shares.delete(client);
  }

  /** Whether a new client from this address must replace another one. */
  isFullFor(peer: IpEndpoint): boolean {
    return (
      this.count >= MAX_UNAUTHENTICATED ||
      this.#shares.countOf(sourceOf(peer)) >= MAX_UNAUTHENTICATED_OF_SOURCE
    );
  }

  /**
   * Returns the client that a new one from this address replaces; `undefined` when there is none. A source with the
   * most clients replaces its own, so that it displaces none of others.
   */
  victimOf(peer: IpEndpoint, now: number): Client | undefined {
    const source = sourceOf(peer);
    const own = this.#shares.countOf(source);
    const { most } = this.#shares;
    const isHeaviest = own >= MAX_UNAUTHENTICATED_OF_SOURCE || own >= most;
    const oldest = isHeaviest ? this.#shares.oldestOf(source) : this.#shares.heaviest?.oldest;
    if (oldest === undefined) return undefined;
    if (!isHeaviest && most > own + 1) return oldest;
    const since = this.#since.get(oldest) ?? now;
    return now - since >= UNAUTHENTICATED_STAY ? oldest : undefined;
  }
}

/**
 * Returns the source of an address: the IPv4 address, or the /64 prefix of an IPv6 one, which is assigned to one host.
 */
const sourceOf = (peer: IpEndpoint): string =>
  isIPv4Endpoint(peer) ? `${peer.d}` : `${peer.a} ${peer.b}`;
