import { LinkClosedError } from '../../net/errors.ts';
import type { ByteLink } from '../../net/link.ts';

/** What a peer did of whom nothing was expected. */
export type Seen =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'bytes' }
  | { readonly kind: 'end' }
  | { readonly kind: 'failure'; readonly error: Error };

/**
 * Listens to a link on which nothing has to come, so that a peer that leaves is noticed. Bytes that
 * come are given back to the link and end the watch, so at most one chunk is ever read ahead.
 */
export class QuietWatch {
  /** Resolves, never rejects, when the peer did something or the watch was stopped. */
  readonly seen: Promise<Seen>;
  readonly #stop = new AbortController();

  constructor(link: ByteLink) {
    this.seen = this.#watch(link);
  }

  /** Stops listening; the link is free to be read once this resolves. Idempotent. */
  stop(): Promise<Seen> {
    this.#stop.abort(new LinkClosedError('the watch is over'));
    return this.seen;
  }

  async #watch(link: ByteLink): Promise<Seen> {
    try {
      const chunk = await link.read(this.#stop.signal);
      if (chunk === undefined) return { kind: 'end' };
      link.unread(chunk);
      return { kind: 'bytes' };
    } catch (error) {
      if (error === this.#stop.signal.reason) return { kind: 'nothing' };
      return {
        kind: 'failure',
        error: error instanceof Error ? error : new LinkClosedError(String(error)),
      };
    }
  }
}
