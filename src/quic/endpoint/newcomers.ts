import { isIPv4Endpoint, type IpEndpoint } from '../../ip/ip-endpoint.ts';
import { Shares } from '../../net/shares.ts';
import { MAX_NEWCOMERS, MAX_NEWCOMERS_OF_SOURCE, NEWCOMER_STAY } from './limits.ts';

/**
 * The clients that are not known yet: their handshake is not complete, or the protocol above does not
 * know who they are. They give way to each other where they are too many, so that one source of them does
 * not keep out the others: that of the source that has the most, or the oldest one that had its time.
 */
export class Newcomers<Client> {
  readonly #shares = new Shares<Client, string>();
  /** When each has come; the oldest first. */
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
      this.count >= MAX_NEWCOMERS || this.#shares.countOf(sourceOf(peer)) >= MAX_NEWCOMERS_OF_SOURCE
    );
  }

  /** The one that gives way to a newcomer from this address; `undefined` when there is none. */
  victimOf(peer: IpEndpoint, now: number): Client | undefined {
    const source = sourceOf(peer);
    const own = this.#shares.countOf(source);
    const isOld = (client: Client | undefined): boolean =>
      client !== undefined && now - (this.#since.get(client) ?? now) >= NEWCOMER_STAY;
    if (own >= MAX_NEWCOMERS_OF_SOURCE) {
      const oldest = this.#shares.oldestOf(source);
      return isOld(oldest) ? oldest : undefined;
    }
    if (this.#shares.most > own + 1) return this.#shares.heaviest?.oldest;
    for (const oldest of this.#since.keys()) return isOld(oldest) ? oldest : undefined;
    return undefined;
  }
}

/** Who an address belongs to: an IPv4 address, or the /64 of an IPv6 one, which a host has for itself. */
const sourceOf = (peer: IpEndpoint): string =>
  isIPv4Endpoint(peer) ? `${peer.d}` : `${peer.a} ${peer.b}`;
