import { asError } from '../../errors.ts';
import { LinkClosedError } from '../errors.ts';
import type { ByteLink } from './link.ts';

/** Each chunk counts as at least this many bytes, which bounds the number of short ones as well. */
const MIN_CHUNK_COST = 1024;

/** The reason why a watch ended. */
export type WatchResult =
  /** `stop` was called before anything else ended the watch. */
  | { readonly kind: 'stopped' }
  /** The limit of bytes to read ahead was reached. */
  | { readonly kind: 'bytes' }
  | { readonly kind: 'end' }
  | { readonly kind: 'failure'; readonly error: Error };

/**
 * Reads ahead on a link while no bytes of the peer are needed, since a reset is reported only to a
 * reader. The chunks that were read are put back before the watch ends.
 */
export class LinkWatch {
  /** Resolves, never rejects, when the watch has ended; the link may be read then. */
  readonly result: Promise<WatchResult>;
  readonly #stop = new AbortController();

  /** @param limit bytes to read ahead, exceeded by a chunk at most; by default a single chunk. */
  constructor(link: ByteLink, limit = 1) {
    this.result = this.#watch(link, limit);
  }

  /** Ends the watch. Idempotent. */
  stop(): Promise<WatchResult> {
    this.#stop.abort(STOPPED);
    return this.result;
  }

  async #watch(link: ByteLink, limit: number): Promise<WatchResult> {
    const ahead: Uint8Array[] = [];
    try {
      for (let left = limit; left > 0;) {
        const chunk = await link.read(this.#stop.signal);
        if (chunk === undefined) return { kind: 'end' };
        ahead.push(chunk);
        left -= Math.max(chunk.length, MIN_CHUNK_COST);
      }
      return { kind: 'bytes' };
    } catch (error) {
      return error === STOPPED ? { kind: 'stopped' } : { kind: 'failure', error: asError(error) };
    } finally {
      for (const chunk of ahead.toReversed()) link.unread(chunk);
    }
  }
}

/** Shared by all watches: an error with its stack costs more than the watch. */
const STOPPED = new LinkClosedError('the watch was stopped');
