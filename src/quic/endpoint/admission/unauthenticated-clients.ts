import { isIPv4Endpoint, type IpEndpoint } from '../../../ip/ip-endpoint.ts';
import { Shares } from '../../../net/bounds/shares.ts';
import {
  MAX_UNAUTHENTICATED,
  MAX_UNAUTHENTICATED_OF_SOURCE,
  UNAUTHENTICATED_STAY,
} from '../limits.ts';

/**
 * The clients that are not known yet: their handshake is not complete, or the protocol above does not
 * know who they are. They give way to each other where they are too many, so that one source of them does
 * not keep out the others: the oldest one of the source that has the most, which has its time before one of
 * a source that has as many.
 */
export class UnauthenticatedClients<Client> {
  readonly #shares = new Shares<Client, string>();
  /** When each has come. */
  readonly #since = new Map<Client, number>();

  get count(): number {
    return this.#since.size;
  }

  add(client: Client, peer: IpEndpoint, now: number): void {
    this.#shares.add(client, sourceOf(peer));
    this.#since.set(client, now);
  }

  /** It is known from now on, or has ended. Idempotent. */
  delete(client: Client): void {
    if (this.#since.delete(client)) this.#shares.delete(client);
  }

  /** Whether another one has to give way to a newcomer from this address. */
  isFullFor(peer: IpEndpoint): boolean {
    return (
      this.count >= MAX_UNAUTHENTICATED ||
      this.#shares.countOf(sourceOf(peer)) >= MAX_UNAUTHENTICATED_OF_SOURCE
    );
  }

  /**
   * The one that gives way to a newcomer from this address; `undefined` when there is none. A source that
   * has the most makes room for itself, so that it takes no place of another.
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

/** Who an address belongs to: an IPv4 address, or the /64 of an IPv6 one, which a host has for itself. */
const sourceOf = (peer: IpEndpoint): string =>
  isIPv4Endpoint(peer) ? `${peer.d}` : `${peer.a} ${peer.b}`;
