import { LRUCache } from 'lru-cache';
import { sourceGroup } from '@weir/io/bounds';
import { RateLimit } from '@weir/io/pace';

/** Requests that a source may send at once, and in a second. */
const BURST = 30;
const PER_SECOND = 1;
/** Sources that are remembered. Beyond it the one that was silent for longest begins anew. */
const MOST_SOURCES = 8192;

/** Limits the rate of requests by source: an IPv4 address or an IPv6 network of 64 bits. */
export class RequestRates {
  readonly #sources = new LRUCache<string, RateLimit>({ max: MOST_SOURCES });

  /** Number of sources that are remembered. */
  get size(): number {
    return this.#sources.size;
  }

  /**
   * Counts a request.
   * @param address of the client; `undefined` on a unix socket
   * @param now milliseconds of a clock that does not jump
   * @returns whether it may be served; otherwise the source may try again after a second
   */
  take(address: string | undefined, now: number): boolean {
    const key = sourceGroup(address);
    const known = this.#sources.get(key);
    const limit = known ?? new RateLimit(PER_SECOND, BURST);
    if (!known) this.#sources.set(key, limit);
    return limit.take(now);
  }
}
