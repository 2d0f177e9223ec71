import { LinkClosedError } from '../errors.ts';
import { CHUNK_COST } from '../bounds/queue-bounds.ts';
import { systemClock, type Clock } from '../time/clock.ts';
import { DelayedReset } from './closing.ts';
import type { ByteLink } from './link.ts';
import { ReadQueue } from './read-queue.ts';

/** Memory of the chunks queued in one direction beyond which writers wait, in bytes. */
const HIGH_WATER_MARK = 64 * 1024;

/**
 * Creates two ByteLinks connected in memory: each reads what the other writes.
 *
 * An inbound that is itself an endpoint (the HTTP proxy as the client of an origin) passes one end to
 * the dispatcher and keeps the other; tests use pairs instead of sockets.
 *
 * @param clock of resets that wait for a reader.
 */
export function linkPair(clock: Clock = systemClock): [ByteLink, ByteLink] {
  const left = new MemoryLink(clock);
  const right = new MemoryLink(clock);
  left.join(right);
  right.join(left);
  return [left, right];
}

class MemoryLink implements ByteLink {
  readonly closed: Promise<Error | undefined>;
  readonly #queue = new ReadQueue<Uint8Array>();
  readonly #resolveClosed: (cause: Error | undefined) => void;
  readonly #clock: Clock;
  #peer!: MemoryLink; // set by linkPair before either end is handed out
  #queuedCost = 0;
  #drain: PromiseWithResolvers<void> | undefined;
  #writeClosed = false;
  #destroyed = false;
  #cause: Error | undefined;
  /** The failure of the other end, while its bytes have not all been read. */
  #failure: Error | undefined;
  #reset: DelayedReset | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
  }

  join(peer: MemoryLink): void {
    this.#peer = peer;
  }

  async read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    const chunk = await this.#queue.take(signal);
    if (chunk) this.#consumed(costOf(chunk));
    return chunk;
  }

  unread(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    this.#queuedCost += costOf(chunk);
    this.#queue.unshift(chunk);
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    return this.writeOutput([chunk]);
  }

  writeOutput(chunks: readonly Uint8Array[]): Promise<void> | undefined {
    if (this.#destroyed || this.#failure || this.#writeClosed) {
      return Promise.reject(this.#closedError());
    }
    for (const chunk of chunks) if (chunk.length > 0) this.#peer.#deliver(chunk);
    return this.#peer.#room();
  }

  closeWrite(): Promise<void> {
    if (this.#writeClosed) return Promise.resolve();
    if (this.#destroyed) return Promise.reject(this.#closedError());
    this.#writeClosed = true;
    this.#peer.#queue.end();
    this.#settle();
    this.#peer.#settle();
    return Promise.resolve();
  }

  destroy(cause?: Error): void {
    const first = !this.#destroyed;
    this.#end(cause, true);
    // Data written before a half-close still arrives, as over a socket.
    if (first) this.#peer.#end(cause, cause !== undefined || !this.#writeClosed);
  }

  resetAfterData(cause: Error): void {
    if (this.#destroyed) {
      this.destroy(cause);
      return;
    }
    this.#end(cause, true);
    const peer = this.#peer;
    peer.#fail(cause);
    peer.#reset = new DelayedReset(
      this.#clock,
      () => (peer.#destroyed ? 0 : peer.#queuedCost),
      () => peer.#end(cause, true),
    );
  }

  /** Records the failure of the other end: queued chunks can still be read. */
  #fail(cause: Error): void {
    if (this.#destroyed) return;
    this.#failure = cause;
    this.#queue.end(cause);
    this.#refuseWriters(cause);
  }

  #deliver(chunk: Uint8Array): void {
    this.#queuedCost += costOf(chunk);
    this.#queue.push(chunk);
  }

  #consumed(cost: number): void {
    this.#queuedCost -= cost;
    if (this.#queuedCost >= HIGH_WATER_MARK) return;
    this.#drain?.resolve();
    this.#drain = undefined;
  }

  #room(): Promise<void> | undefined {
    if (this.#queuedCost < HIGH_WATER_MARK) return undefined;
    this.#drain ??= Promise.withResolvers<void>();
    return this.#drain.promise;
  }

  /** Resolves `closed` when both directions have ended cleanly. */
  #settle(): void {
    if (this.#writeClosed && this.#peer.#writeClosed) this.#resolveClosed(this.#cause);
  }

  #end(cause: Error | undefined, dropQueued: boolean): void {
    if (!this.#destroyed) this.#cause = cause;
    this.#destroyed = true;
    if (dropQueued) this.#queue.fail(this.#closedError());
    this.#reset?.cancel();
    this.#refuseWriters(this.#closedError());
    this.#resolveClosed(this.#cause);
  }

  #refuseWriters(reason: Error): void {
    this.#drain?.promise.catch(() => undefined);
    this.#drain?.reject(reason);
    this.#drain = undefined;
  }

  #closedError(): Error {
    return this.#cause ?? this.#failure ?? new LinkClosedError();
  }
}

/** Returns the memory of a queued chunk, in bytes. */
const costOf = (chunk: Uint8Array): number => chunk.length + CHUNK_COST;
