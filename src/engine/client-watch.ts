import type { ByteLink } from '../net/links/link.ts';
import { LinkWatch } from '../net/links/link-watch.ts';
import { onClosed } from '../net/links/on-closed.ts';

/** Bytes read ahead from a client while its destination is dialled, give or take a chunk. */
const AHEAD_BYTES = 16 * 1024;

/**
 * Watches a client while its destination is dialled, so that the dial is aborted when the client
 * resets its connection: it would hold a descriptor for as long as a dial may take.
 *
 * A half-close does not abort the dial, since the client may still want the response. A client that
 * has closed both directions looks the same until something is written to it.
 */
export class ClientWatch {
  readonly #watch: LinkWatch;
  #onGone: (() => void) | undefined;
  #forgetLink: (() => void) | undefined;

  /** @param onGone called once at most, and never after `stop` was called. */
  constructor(link: ByteLink, onGone: () => void) {
    this.#onGone = onGone;
    this.#watch = new LinkWatch(link, AHEAD_BYTES);
    void this.#watch.result.then(({ kind }) => {
      if (kind === 'failure') this.#gone();
      // Enough was read, or there is no more: it remains to learn that the link is destroyed.
      // The link may serve many requests, each with a watch of its own.
      else if (this.#onGone) this.#forgetLink = onClosed(link.closed, () => this.#gone());
    });
  }

  /** Ends the watch; once this resolves the link may be read, and has all that came. Idempotent. */
  async stop(): Promise<void> {
    this.#onGone = undefined;
    this.#forgetLink?.();
    await this.#watch.stop();
  }

  #gone(): void {
    const onGone = this.#onGone;
    this.#onGone = undefined;
    onGone?.();
  }
}
