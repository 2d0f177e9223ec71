import { LinkClosedError } from '../net/errors.ts';
import type { ByteLink } from '../net/link.ts';
import { onClosed } from '../net/on-closed.ts';

/** Read ahead of a client while its destination is dialled, give or take a chunk. */
const AHEAD_BYTES = 16 * 1024;
/** What a chunk counts at least, so that many short ones are not kept either. */
const CHUNK_BYTES = 1024;

/**
 * Listens to a client while its destination is dialled, so that the dial of one who has left ends
 * with it: it would hold a descriptor, and count for nobody, for as long as a dial may take.
 *
 * Only a reader hears of a reset, so what the client sends meanwhile is read ahead, within limits,
 * and given back. An end is no leaving: who half-closes may still want the answer. That a client has
 * closed altogether looks just the same until something is written to it.
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

  /** Ends the watch; once this resolves the link may be read, and has all that came. Idempotent. */
  stop(): Promise<void> {
    this.#onGone = undefined;
    this.#forgetLink?.();
    this.#stop.abort(WATCH_IS_OVER);
    return this.#reading;
  }

  async #watch(): Promise<void> {
    const ahead = await this.#readAhead();
    for (const chunk of ahead.toReversed()) this.#link.unread(chunk);
    // Enough was read, or there is no more: what is left to hear of is that the link is destroyed.
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
      // Called off, unless the client is gone; whoever reads next meets its failure again.
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

/** One for all watches: an error with its stack costs more than the watch. */
const WATCH_IS_OVER = new LinkClosedError('the watch is over');
