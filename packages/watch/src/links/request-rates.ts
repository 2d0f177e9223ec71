import { sourceGroup } from '@weir/io/bounds';

/** Requests that a source may send at once. */
const BURST = 30;
/** Milliseconds until a source may send one more request. */
const INTERVAL_MS = 1000;
/** Sources that are remembered. Beyond it the one that was silent for longest begins anew. */
const MOST_SOURCES = 8192;

interface Source {
  /** Requests that it may still send. */
  left: number;
  /** When `left` was counted, in milliseconds. */
  at: number;
}

/** Limits the rate of requests by source: an IPv4 address or an IPv6 network of 64 bits. */
export class RequestRates {
  /** The one that was silent for longest first. */
  readonly #sources = new Map<string, Source>();

  /** Number of sources that are remembered. */
  get size(): number {
    return this.#sources.size;
  }

  /**
   * Counts a request.
   * @param address of the client; `undefined` on a unix socket
   * @param now milliseconds of a clock that does not jump
   * @returns seconds after which the source may try again; 0 when the request may be served
   */
  take(address: string | undefined, now: number): number {
    const key = sourceGroup(address);
    const source = this.#sources.get(key) ?? { left: BURST, at: now };
    source.left = Math.min(BURST, source.left + (now - source.at) / INTERVAL_MS);
    source.at = now;
    this.#sources.delete(key);
    if (this.#sources.size >= MOST_SOURCES) {
      for (const oldest of this.#sources.keys()) {
        this.#sources.delete(oldest);
        break;
      }
    }
    this.#sources.set(key, source);
    if (source.left < 1) return Math.ceil(((1 - source.left) * INTERVAL_MS) / 1000);
    source.left -= 1;
    return 0;
  }
}
