import type { ByteLink } from '../net/links/link.ts';
import { LinkWatch } from '../net/links/link-watch.ts';
import { onClosed } from '../net/links/on-closed.ts';

/** Bytes that are read ahead from a client while its destination is dialled; the last chunk may exceed this number. */
const AHEAD_BYTES = 16 * 1024;

/**
 * Watches a client while its destination is dialled, so that the dial is aborted when the client resets its connection:
 * otherwise the dial would hold a descriptor until its time limit.
 *
 * A half-close does not abort the dial, since the client may still expect the response. A client that has closed both
 * directions looks the same until data is written to it.
 */
export class ClientWatch {
  readonly #watch: LinkWatch;
  #onGone: (() => void) | undefined;
  #forgetLink: (() => void) | undefined;

  /** @param onGone called at most once, and never after `stop` */
  constructor(link: ByteLink, onGone: () => void) {
    this.#onGone = onGone;
    this.#watch = new LinkWatch(link, AHEAD_BYTES);
    void this.#watch.result.then(({ kind }) => {
      if (kind === 'failure') this.#gone();
      // The limit or the end has been reached: from now on only the destruction of the link matters. The link
      // may serve many requests with a watch each, so the callback has to be removed.
      else if (this.#onGone) this.#forgetLink = onClosed(link.closed, () => this.#gone());
    });
  }

  /** Ends the watch. When this resolves the link may be read, and returns everything read ahead. Idempotent. */
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
