import { LinkClosedError } from '../net/errors.ts';
import type { ByteLink } from '../net/link.ts';
import { onClosed } from '../net/on-closed.ts';

/** Bytes read ahead from a client while its destination is dialled, give or take a chunk. */
const AHEAD_BYTES = 16 * 1024;
/** The least that a chunk counts, so that the number of short ones is bounded too. */
const CHUNK_BYTES = 1024;

/**
 * Watches a client while its destination is dialled, so that the dial is aborted when the client
 * leaves: it would hold a descriptor for as long as a dial may take.
 *
 * Only a pending read reports a reset, so what the client sends meanwhile is read ahead, within
 * limits, and unread afterwards. The end of the stream is not taken for leaving: a client that
 * half-closed may still want the response, and one that closed looks the same until written to.
 */
export class ClientWatch {
  readonly #link: ByteLink;
  readonly #stop = new AbortController();
  readonly #reading: Promise<void>;
  #onGone: (() => void) | undefined;
  #forgetLink: (() => void) | undefined;

  /** @param onGone called once at most, and never after `stop` was called. */
  constructor(link: ByteLink, onGone: () => void) {
    this.#link = link;
    this.#onGone = onGone;
    this.#reading = this.#watch();
  }

  /** Ends the watch; once this resolves the link may be read, with all that came. Idempotent. */
  stop(): Promise<void> {
    this.#onGone = undefined;
    this.#forgetLink?.();
    this.#stop.abort(WATCH_IS_OVER);
    return this.#reading;
  }

  async #watch(): Promise<void> {
    const ahead = await this.#readAhead();
    for (const chunk of ahead.toReversed()) this.#link.unread(chunk);
    // Enough was read, or there is no more: only the destruction of the link is left to watch for.
    // The link may serve many requests, each with a watch of its own.
    if (this.#onGone) this.#forgetLink = onClosed(this.#link.closed, () => this.#gone());
  }

  async #readAhead(): Promise<readonly Uint8Array[]> {
    const ahead: Uint8Array[] = [];
    try {
      for (let left = AHEAD_BYTES; left > 0;) {
        const chunk = await this.#link.read(this.#stop.signal);
        if (chunk === undefined) break;
        ahead.push(chunk);
        left -= Math.max(chunk.length, CHUNK_BYTES);
      }
    } catch {
      // Stopped, or the link has failed; the next read reports that failure again.
      this.#gone();
    }
    return ahead;
  }

  #gone(): void {
    const onGone = this.#onGone;
    this.#onGone = undefined;
    onGone?.();
  }
}

/** Shared by all watches: an error with its stack costs more than the watch. */
const WATCH_IS_OVER = new LinkClosedError('the watch is over');
