import { asError } from '@weir/base';
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

/** Listeners by the promise that they wait for; a single reaction of the promise calls them all. */
const listenersOf = new WeakMap<Promise<unknown>, Set<() => void>>();

/**
 * Calls `listener` once `closed` has resolved, unless the returned function is called before.
 *
 * For listeners that end before the link: a reaction of a promise cannot be removed, so
 * `closed.then(…)` would keep everything that it references while the link is open. `closed` must be
 * the same promise for all listeners of a link, and must not reject.
 */
export function onClosed(closed: Promise<unknown>, listener: () => void): () => void {
  const listeners = listenersOf.get(closed) ?? listen(closed);
  // A new function, so that a listener that was added twice can be removed once.
  const call = (): void => listener();
  listeners.add(call);
  return () => void listeners.delete(call);
}

function listen(closed: Promise<unknown>): Set<() => void> {
  const listeners = new Set<() => void>();
  listenersOf.set(closed, listeners);
  void closed.then(() => {
    listenersOf.delete(closed);
    for (const call of listeners) call();
    listeners.clear();
  });
  return listeners;
}
