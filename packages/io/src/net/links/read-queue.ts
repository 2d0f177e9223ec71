import { LinkClosedError } from '../errors.ts';
import { abortReason } from '../time/clock.ts';

/** Size in bytes below which the garbage collector costs no more. */
const FREED_AT_ONCE = 8 << 10;

/** The most memory of a chunk that waits to be sent, as a multiple of its bytes: queues are bounded by bytes. */
const MOST_WASTE = 4;

/** Marks a chunk that is the only view of its memory, although it does not fill it. */
const SOLE = Symbol('the only view of its memory');

interface Markable extends Uint8Array {
  [SOLE]?: true;
}

/** Marks a part of a chunk's memory that nothing else uses, so that `freeChunk` can free it. */
export function asSole<Chunk extends Uint8Array>(chunk: Chunk): Chunk {
  (chunk as Markable)[SOLE] = true;
  return chunk;
}

/** Whether a chunk is the only view of its memory. */
export const isSole = (chunk: Markable): boolean =>
  chunk.length === chunk.buffer.byteLength || chunk[SOLE] === true;

/** Whether `freeChunk` frees the memory of a chunk. */
const isFreeable = (chunk: Uint8Array): boolean =>
  chunk.buffer.byteLength >= FREED_AT_ONCE && isSole(chunk);

/**
 * Frees the memory of an unused chunk. Left to the garbage collector, the 64 KB of
 * each read accumulate, force collections and evict the processor's caches, which took half of the
 * time of a relay (1.3 s a GB, 0.6 s with this; `pipe` 0.8 s).
 *
 * No effect on a chunk that shares its memory with other views.
 */
export function freeChunk(chunk: Uint8Array): void {
  const { buffer } = chunk;
  if (isFreeable(chunk) && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/** Allocates unshared, uninitialized memory for a chunk that `freeChunk` will free. */
export const ownChunk = (length: number): Buffer<ArrayBuffer> =>
  length < FREED_AT_ONCE ? Buffer.allocUnsafe(length) : Buffer.allocUnsafeSlow(length);

/** Returns a copy in its own memory, which `freeChunk` can free. */
export function copyOf(bytes: Uint8Array): Uint8Array {
  // Not from Node's pool: a chunk for a stalled peer would keep the whole pool alive.
  if (bytes.length < FREED_AT_ONCE) return Uint8Array.from(bytes);
  const copy = ownChunk(bytes.length);
  copy.set(bytes);
  return copy;
}

/**
 * Reduces `chunk` to those `parts` of it that remain after removing a framing, in a form that `freeChunk` can free:
 * a single part itself, or one run of all of them, and a copy where little remains. The caller must no longer use `chunk`
 * or its parts.
 */
export function strip(chunk: Uint8Array, parts: readonly Uint8Array[]): readonly Uint8Array[] {
  const [first] = parts;
  if (first === undefined || !isFreeable(chunk)) return parts;
  const run = parts.length === 1 ? first : joinedInPlace(chunk, parts);
  if (run && run.length * MOST_WASTE >= chunk.buffer.byteLength) return [asSole(run)];
  // One copy, which also saves later writes, instead of memory left to the garbage collector, or kept for few bytes.
  const whole = run ? copyOf(run) : joined(parts);
  freeChunk(chunk);
  return [whole];
}

/** Returns a copy of all parts as one chunk that `freeChunk` can free. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = ownChunk(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Moves parts of a chunk, which are in order, together in place; `undefined` for other parts. */
function joinedInPlace(chunk: Uint8Array, parts: readonly Uint8Array[]): Uint8Array | undefined {
  let end = 0;
  for (const { buffer, byteOffset, length } of parts) {
    if (buffer !== chunk.buffer || byteOffset < end) return undefined;
    end = byteOffset + length;
  }
  const start = (parts[0]?.byteOffset ?? 0) - chunk.byteOffset;
  let at = start;
  for (const { byteOffset, length } of parts) {
    const from = byteOffset - chunk.byteOffset;
    if (from !== at) chunk.copyWithin(at, from, from + length);
    at += length;
  }
  return chunk.subarray(start, at);
}

/**
 * The receiving half of a link: a queue of items with one consumer.
 *
 * It implements the parts of the ByteLink contract that every implementation shares: one pending
 * read, and items before the end of the stream or a failure of the peer.
 */
export class ReadQueue<T> {
  readonly #items: T[] = [];
  readonly #pending = new PendingRead<T>();
  #ended = false;
  #error: Error | undefined;
  /** The failure that follows the items. */
  #failure: Error | undefined;

  /** Number of items in the queue. */
  get size(): number {
    return this.#items.length;
  }

  /** Whether a take is pending: the next item is then passed on at once. */
  get wanted(): boolean {
    return this.#pending.isPending;
  }

  /** Whether the queue has ended or failed. */
  get finished(): boolean {
    return this.#ended || this.#error !== undefined;
  }

  /** Appends an item; ignored after the end or a failure. */
  push(item: T): void {
    if (this.finished) return;
    if (this.#pending.isPending) this.#pending.resolve(item);
    else this.#items.push(item);
  }

  /** Puts an item back in front, even after the end. */
  unshift(item: T): void {
    this.#items.unshift(item);
  }

  /** Ends the queue; queued items can still be taken. @param failure the error of takes after them. */
  end(failure?: Error): void {
    if (this.finished) return;
    this.#ended = true;
    this.#failure = failure;
    if (failure) this.#pending.reject(failure);
    else this.#pending.resolve(undefined);
  }

  /** Drops queued items and rejects the pending take and every later one. */
  fail(error: Error): void {
    if (this.#error) return;
    this.#error = error;
    this.#items.length = 0;
    this.#pending.reject(error);
  }

  /** Returns the next item; `undefined` at the end. An aborted take loses no item. */
  take(signal?: AbortSignal): Promise<T | undefined> {
    if (this.wanted) return Promise.reject(new LinkClosedError('a read is already pending'));
    if (this.#error) return Promise.reject(this.#error);
    if (signal?.aborted) return Promise.reject(abortReason(signal));
    if (this.#items.length > 0) return Promise.resolve(this.#items.shift());
    if (this.#failure) return Promise.reject(this.#failure);
    if (this.#ended) return Promise.resolve(undefined);
    return this.#pending.wait(signal);
  }
}

/**
 * The one read of a link that may be pending. It settles once, and aborting its signal rejects it
 * without loss of data: an item is taken only for a read that `isPending`.
 */
export class PendingRead<T> {
  #resolve: ((item: T | undefined) => void) | undefined;
  #reject: ((error: Error) => void) | undefined;
  #signal: AbortSignal | undefined;
  #onAbort: (() => void) | undefined;

  get isPending(): boolean {
    return this.#resolve !== undefined;
  }

  /** Begins to wait for `resolve` or `reject`; no other read may be pending, nor `signal` be aborted. */
  wait(signal: AbortSignal | undefined): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      if (!signal) return;
      this.#signal = signal;
      const onAbort = (): void => this.reject(abortReason(signal));
      this.#onAbort = onAbort;
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** @param item `undefined` at the end of the stream. */
  resolve(item: T | undefined): void {
    const resolve = this.#resolve;
    this.#clear();
    resolve?.(item);
  }

  reject(error: Error): void {
    const reject = this.#reject;
    this.#clear();
    reject?.(error);
  }

  #clear(): void {
    if (this.#onAbort) this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#resolve = this.#reject = this.#signal = this.#onAbort = undefined;
  }
}
