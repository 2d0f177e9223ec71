import { asError } from '@weir/base';
import { LinkClosedError } from '../errors.ts';
import type { ByteLink } from './link.ts';
import {
  abortReason,
  type Clock,
  Deadline,
  REJECTED_CLIENT_MS,
  RESET_DELAY_MS,
  type Timer,
} from '../time/clock.ts';

const MAX_DRAINED_BYTES = 64 * 1024;

interface GracefulCloseOptions {
  /** Bytes sent before the end of stream. */
  readonly response?: Uint8Array;
  /** Milliseconds until the link is destroyed. */
  readonly limitMs?: number;
  /** Bytes that are read and dropped before the link is destroyed. */
  readonly limitBytes?: number;
}

/**
 * Closes a connection so that the last response arrives: half-closes it, then reads and discards until the peer has
 * closed as well, within limits; by default those for a rejected client. Closing a socket over unread bytes resets the
 * connection, and the reset can overtake the response (RFC 9112 §9.6). The link is destroyed when this resolves. Never
 * rejects.
 */
export async function closeGracefully(
  link: ByteLink,
  clock: Clock,
  {
    response,
    limitMs = REJECTED_CLIENT_MS,
    limitBytes = MAX_DRAINED_BYTES,
  }: GracefulCloseOptions = {},
): Promise<void> {
  using deadline = new Deadline(clock, limitMs, 'closing the connection');
  const { signal } = deadline;
  const onAbort = (): void => link.destroy(abortReason(signal));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (response) await link.write(response);
    await link.closeWrite();
    for (let left = limitBytes; left > 0;) {
      const chunk = await link.read(signal);
      if (chunk === undefined) break;
      left -= chunk.length;
    }
    link.destroy();
  } catch (error) {
    // The peer has already closed or reset the connection, or the time limit has passed.
    link.destroy(error instanceof Error ? error : undefined);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** The shortest and the longest interval between two checks, in milliseconds. */
const SHORTEST_WAIT_MS = 1;
const LONGEST_WAIT_MS = 50;

/**
 * Resets a connection once its peer has received everything written to it, since a reset discards data that is queued
 * or in flight; or once the peer has made no progress for RESET_DELAY_MS.
 *
 * Neither kernels nor protocol cores report that moment, so it is polled for, at growing intervals.
 */
export class DelayedReset {
  readonly #clock: Clock;
  readonly #untakenNow: () => number;
  readonly #reset: () => void;
  #timer: Timer | undefined;
  #untaken = Infinity;
  #takenAt = 0;
  #wait = SHORTEST_WAIT_MS;

  /**
   * @param untaken returns the number of written bytes that the peer has not acknowledged.
   * @param reset is called once, possibly within this call.
   */
  constructor(clock: Clock, untaken: () => number, reset: () => void) {
    this.#clock = clock;
    this.#untakenNow = untaken;
    this.#reset = reset;
    this.#look();
  }

  cancel(): void {
    this.#timer?.cancel();
  }

  #look(): void {
    const untaken = this.#untakenNow();
    const now = this.#clock.now();
    if (untaken < this.#untaken) {
      this.#untaken = untaken;
      this.#takenAt = now;
    }
    const left = this.#takenAt + RESET_DELAY_MS - now;
    if (untaken === 0 || left <= 0) {
      this.#reset();
      return;
    }
    this.#timer = this.#clock.after(Math.min(this.#wait, left), () => this.#look());
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
  }
}

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
