import { SystemError } from '../../platform/sockets/errno.ts';
import { StreamPump } from '../../platform/sockets/stream-pump.ts';
import {
  AGAIN,
  type SocketOwner,
  type StreamSocket,
} from '../../platform/sockets/stream-socket.ts';
import type { Resumable } from '../../platform/sockets/poller.ts';
import { systemClock, type Timer } from '../clock.ts';
import { LinkClosedError } from '../errors.ts';
import type { ByteLink, ReleasedSocket, WireCounter } from '../link.ts';
import { abortReason } from '../read-queue.ts';
import { LINGER_BYTES, LINGER_MS } from '../socket-limits.ts';
import { freeChunk, ownChunk } from '../spent-chunk.ts';
import type { LinkWatchdog } from './watchdog.ts';

/** Reads of one link in one turn of the loop; a reader that asks for more has them in the next. */
const READS_A_TURN = 4;
/** A frame up to this size is gathered by copying; a longer one is sent piece by piece. */
const GATHERED_BYTES = 8 << 10;

/** What receiving brought instead of a chunk. */
const NOTHING_YET = Symbol('nothing to read yet');
const FAILED = Symbol('the link failed');

interface Waiter {
  readonly resolve: (chunk: Uint8Array | undefined) => void;
  readonly reject: (error: Error) => void;
  readonly signal: AbortSignal | undefined;
  readonly onAbort: (() => void) | undefined;
}

/** A transfer that moves bytes between two links by itself. */
interface Transfer {
  readonly pump: StreamPump;
  fail(error: Error): void;
}

/**
 * A kernel socket (TCP or unix) that Node knows nothing of, as a ByteLink.
 *
 * Bytes are received when a reader asks, so that nothing is queued here but what was put back.
 */
export class KernelLink implements ByteLink, WireCounter, SocketOwner, Resumable {
  readonly #socket: StreamSocket;
  readonly #watchdog: LinkWatchdog | undefined;
  #bytesRead = 0;
  #bytesWritten = 0;
  /** Chunks that were put back, the next one first. */
  #front: Uint8Array[] = [];
  #waiter: Waiter | undefined;
  /** The peer's end of the stream has been read. */
  #ended = false;
  /** What reads reject with. */
  #error: Error | undefined;
  #cause: Error | undefined;
  #destroyed = false;
  /** Chunks that the kernel has not taken yet. */
  #pending: Uint8Array[] = [];
  #drain: PromiseWithResolvers<void> | undefined;
  #closing: PromiseWithResolvers<void> | undefined;
  /** The end of this side has been sent. */
  #shut = false;
  #linger: { left: number; readonly timer: Timer } | undefined;
  #source: Transfer | undefined;
  #sink: Transfer | undefined;
  #closed: PromiseWithResolvers<Error | undefined> | undefined;
  /** The turn in which this link read last, and how often. */
  #turn = -1;
  #reads = 0;
  #deferred = false;

  /** Takes a connected socket over. */
  constructor(socket: StreamSocket, watchdog?: LinkWatchdog) {
    this.#socket = socket;
    this.#watchdog = watchdog;
    socket.owner = this;
  }

  get bytesRead(): number {
    return this.#bytesRead;
  }

  get bytesWritten(): number {
    return this.#bytesWritten;
  }

  get closed(): Promise<Error | undefined> {
    if (!this.#closed) {
      this.#closed = Promise.withResolvers();
      if (!this.#socket.isOpen) this.#closed.resolve(this.#cause);
    }
    return this.#closed.promise;
  }

  /** For the watchdog: what this link waits for. */
  get waitsFor(): { readonly input: boolean; readonly output: boolean } {
    const input = this.#waiter !== undefined && !this.#deferred;
    return {
      input: input || (this.#source?.pump.isWaiting ?? false),
      output: this.#pending.length > 0,
    };
  }

  /** For the watchdog, and for diagnostics. */
  get socket(): StreamSocket {
    return this.#socket;
  }

  read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    if (this.#waiter || this.#source) {
      return Promise.reject(new LinkClosedError('a read is already pending'));
    }
    if (this.#error) return Promise.reject(this.#error);
    if (signal?.aborted) return Promise.reject(abortReason(signal));
    if (this.#front.length > 0) return Promise.resolve(this.#front.shift());
    if (this.#ended) return Promise.resolve(undefined);
    const mayRead = this.#mayRead();
    if (mayRead) {
      // Also where no event has announced anything: a look at the socket when a wait begins makes
      // sure that the wait is for something that comes later.
      const chunk = this.#receive();
      if (chunk === FAILED) return Promise.reject(this.#readError());
      if (chunk !== NOTHING_YET) return Promise.resolve(chunk);
    }
    return new Promise((resolve, reject) => {
      let onAbort: (() => void) | undefined;
      if (signal) {
        onAbort = () => this.#takeWaiter()?.reject(abortReason(signal));
        signal.addEventListener('abort', onAbort, { once: true });
      }
      this.#waiter = { resolve, reject, signal, onAbort };
      if (mayRead) this.#watchdog?.watch(this);
      else this.#defer();
    });
  }

  unread(chunk: Uint8Array): void {
    if (chunk.length > 0) this.#front.unshift(chunk);
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    if (!this.#mayWrite) return Promise.reject(this.#closedError());
    if (this.#pending.length > 0) return this.#queue(chunk);
    const sent = this.#send(chunk, false);
    if (sent === FAILED) return Promise.reject(this.#closedError());
    return sent === chunk.length ? undefined : this.#queue(chunk.subarray(sent));
  }

  give(chunk: Uint8Array): Promise<void> | undefined {
    const drained = this.write(chunk);
    if (!drained) freeChunk(chunk);
    return drained;
  }

  writeAll(chunks: readonly Uint8Array[]): Promise<void> | undefined {
    if (!this.#mayWrite) return Promise.reject(this.#closedError());
    let length = 0;
    for (const chunk of chunks) length += chunk.length;
    if (this.#pending.length === 0 && length <= GATHERED_BYTES) return this.#gather(chunks, length);
    let drained: Promise<void> | undefined;
    for (const [index, chunk] of chunks.entries()) {
      if (this.#pending.length > 0) {
        drained = this.#queue(chunk);
        continue;
      }
      const sent = this.#send(chunk, index < chunks.length - 1);
      if (sent === FAILED) return Promise.reject(this.#closedError());
      if (sent < chunk.length) drained = this.#queue(chunk.subarray(sent));
    }
    return drained;
  }

  closeWrite(): Promise<void> {
    if (this.#shut) return Promise.resolve();
    if (this.#closing) return this.#closing.promise;
    if (!this.#mayWrite) return Promise.reject(this.#closedError());
    this.#closing = Promise.withResolvers();
    const { promise } = this.#closing;
    if (this.#pending.length === 0) this.#shutdown();
    return promise;
  }

  destroy(cause?: Error): void {
    if (!this.#socket.isOpen) return;
    if (this.#destroyed) {
      // While it lingers, or in the middle of its own end.
      if (cause) this.#close(cause);
      return;
    }
    this.#destroyed = true;
    this.#cause = cause;
    if (!cause && this.#shut && !this.#ended) this.#startLinger();
    // With a cause the stream is not complete, and a reset says so; a plain close would look like
    // a complete body to a protocol that ends at the end of the stream.
    else this.#close(cause);
  }

  /**
   * Hands the descriptor over, for layers that need Node's own socket: only while nothing was put
   * back, queued or is being waited for.
   */
  release(): ReleasedSocket | undefined {
    const isIdle =
      this.#front.length === 0 && this.#pending.length === 0 && !this.#waiter && !this.#closing;
    if (!isIdle || this.#source || this.#sink || this.#destroyed || this.#ended) return undefined;
    const fd = this.#socket.release();
    if (fd < 0) return undefined;
    this.#destroyed = true;
    this.#error = new LinkClosedError('the link was released');
    this.#cause = undefined;
    this.#watchdog?.forget(this);
    this.#closed?.resolve(undefined);
    return { fd };
  }

  /**
   * Moves everything from here to `to` by itself, in the kernel where that pays, until the end of
   * this link's stream; what was put back goes first. Nothing else may read here or write there
   * meanwhile. The end is not passed on: `to.closeWrite()` is left to the caller.
   *
   * @param moved is called with the number of bytes that were written, at most once a turn.
   * @returns a promise that rejects when either link fails, or `undefined` when this is not
   *   possible with `to`: then bytes have to be read and written.
   */
  pourInto(to: ByteLink, moved: (bytes: number) => void): Promise<void> | undefined {
    if (!(to instanceof KernelLink) || to === this) return undefined;
    if (this.#waiter || this.#source || this.#ended || this.#error) return undefined;
    if (to.#sink || !to.#mayWrite) return undefined;
    if (this.#front.length > 0 || to.#pending.length > 0) return this.#pourAfterFront(to, moved);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const finish = (): void => {
      this.#source = undefined;
      to.#sink = undefined;
      this.#watchdog?.forget(this);
    };
    const pump = new StreamPump(this.#socket, to.#socket, {
      moved: (bytes) => {
        this.#bytesRead += bytes;
        to.#bytesWritten += bytes;
        moved(bytes);
      },
      ended: () => {
        finish();
        this.#ended = true;
        resolve();
        this.#closeWhenOver();
      },
      failed: (side, error) => {
        finish();
        reject(error);
        (side === 'from' ? this : to).#fail(error);
      },
    });
    const transfer: Transfer = {
      pump,
      fail: (error) => {
        finish();
        pump.stop();
        reject(error);
      },
    };
    this.#source = transfer;
    to.#sink = transfer;
    this.#watchdog?.watch(this);
    pump.pump();
    return promise;
  }

  /** @internal of the poller: the socket may be read from or written to. */
  onReady(failed: boolean): void {
    const socket = this.#socket;
    if (socket.readable) {
      if (this.#source) this.#source.pump.pump();
      else if (this.#waiter) this.#answer();
      else if (this.#linger) this.#swallow();
    }
    if (socket.isOpen && socket.writable) {
      if (this.#sink) this.#sink.pump.pump();
      else if (this.#pending.length > 0) this.#flush();
    }
    if (failed && socket.isOpen) this.#onError();
  }

  /** @internal of the poller: the turn has come that a read was put off to. */
  resume(): void {
    this.#deferred = false;
    if (!this.#waiter) return;
    this.#answer();
    if (this.#waiter) this.#watchdog?.watch(this);
  }

  /** What a handshake read too far, or a destination still has to take, goes first. */
  async #pourAfterFront(to: KernelLink, moved: (bytes: number) => void): Promise<void> {
    if (to.#pending.length > 0) await to.#drained();
    for (;;) {
      const chunk = this.#front.shift();
      if (!chunk) break;
      const { length } = chunk;
      const full = to.give(chunk);
      if (full) await full;
      moved(length);
    }
    if (this.#ended) return;
    const poured = this.pourInto(to, moved);
    if (!poured) throw this.#error ?? to.#error ?? new LinkClosedError();
    await poured;
  }

  get #mayWrite(): boolean {
    return !this.#destroyed && !this.#closing && !this.#shut && !this.#sink;
  }

  /** Counts a read of this turn; false when the link or the thread has had its share. */
  #mayRead(): boolean {
    const { poller } = this.#socket.io;
    if (this.#turn !== poller.turn) {
      this.#turn = poller.turn;
      this.#reads = 0;
    }
    return poller.mayMove && this.#reads++ < READS_A_TURN;
  }

  #defer(): void {
    if (this.#deferred) return;
    this.#deferred = true;
    this.#socket.io.poller.later(this);
  }

  /** The next chunk, `undefined` at the end. After FAILED the link is closed. */
  #receive(): Uint8Array | undefined | typeof NOTHING_YET | typeof FAILED {
    const socket = this.#socket;
    const count = socket.receive();
    if (count > 0) {
      this.#bytesRead += count;
      socket.io.poller.moved(count);
      const chunk = ownChunk(count);
      socket.io.scratch.bytes.copy(chunk, 0, 0, count);
      return chunk;
    }
    if (count === AGAIN) return NOTHING_YET;
    if (count === 0) {
      this.#ended = true;
      this.#closeWhenOver();
      return undefined;
    }
    this.#fail(new SystemError('read', -count));
    return FAILED;
  }

  #answer(): void {
    if (!this.#mayRead()) {
      this.#defer();
      return;
    }
    const chunk = this.#receive();
    if (chunk === NOTHING_YET || chunk === FAILED) return;
    this.#takeWaiter()?.resolve(chunk);
  }

  /** Bytes of a chunk that the kernel took, which may be none. After FAILED the link is closed. */
  #send(chunk: Uint8Array, more: boolean): number | typeof FAILED {
    let sent = 0;
    // A short result clears nothing: only EAGAIN brings an event later.
    while (sent < chunk.length && this.#socket.writable) {
      const rest = sent === 0 ? chunk : chunk.subarray(sent);
      const count = this.#book(this.#socket.send(rest, more));
      if (count === FAILED) return FAILED;
      sent += count;
    }
    return sent;
  }

  /** Sends small pieces in one call. */
  #gather(chunks: readonly Uint8Array[], length: number): Promise<void> | undefined {
    const { bytes } = this.#socket.io.scratch;
    let at = 0;
    for (const chunk of chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    let sent = 0;
    if (length > 0 && this.#socket.writable) {
      const count = this.#book(this.#socket.sendScratch(length));
      if (count === FAILED) return Promise.reject(this.#closedError());
      sent = count;
    }
    return sent === length ? undefined : this.write(Uint8Array.from(bytes.subarray(sent, length)));
  }

  #book(result: number): number | typeof FAILED {
    if (result >= 0) {
      this.#bytesWritten += result;
      return result;
    }
    if (result === AGAIN) return 0;
    this.#fail(new SystemError('write', -result));
    return FAILED;
  }

  #queue(chunk: Uint8Array): Promise<void> {
    if (chunk.length > 0) this.#pending.push(chunk);
    this.#watchdog?.watch(this);
    return this.#drained();
  }

  #flush(): void {
    const pending = this.#pending;
    let done = 0;
    while (done < pending.length) {
      const chunk = pending[done] as Uint8Array; // within
      const sent = this.#send(chunk, done < pending.length - 1);
      if (sent === FAILED) return;
      if (sent < chunk.length) {
        pending[done] = chunk.subarray(sent);
        break;
      }
      done++;
    }
    pending.splice(0, done);
    if (pending.length > 0) return;
    this.#drain?.resolve();
    this.#drain = undefined;
    if (this.#closing) this.#shutdown();
  }

  #shutdown(): void {
    this.#shut = true;
    this.#socket.shutdown();
    this.#closing?.resolve();
    this.#closeWhenOver();
  }

  /** The end of both directions closes the link. */
  #closeWhenOver(): void {
    if (this.#ended && this.#shut) this.#close(undefined);
  }

  /**
   * Reads on, to drop it, until the peer has ended too (RFC 9112 §9.6): the kernel resets a
   * connection that is closed with bytes unread, and what the peer has not yet taken would be lost.
   */
  #startLinger(): void {
    const error = new LinkClosedError();
    this.#error = error;
    this.#failTransfers(error);
    this.#takeWaiter()?.reject(error);
    this.#front = [];
    // The system's clock: what a closed link leaves to the kernel is not a limit of any protocol.
    const timer = systemClock.after(LINGER_MS, () => this.#close(undefined));
    this.#linger = { left: LINGER_BYTES, timer };
    this.#socket.keepAlive(false);
    this.#swallow();
  }

  #swallow(): void {
    const linger = this.#linger;
    while (linger && this.#socket.isOpen) {
      const count = this.#socket.receive();
      if (count === AGAIN) return;
      linger.left -= Math.max(count, 0);
      if (count <= 0 || linger.left < 0) this.#close(undefined);
    }
  }

  /** The kernel reports an error that no call has met. */
  #onError(): void {
    if (this.#linger) {
      this.#close(undefined);
      return;
    }
    // What came before the failure belongs to the reader, who then meets the error in turn.
    if (!this.#ended && (this.#waiter || this.#source || this.#socket.unread() > 0)) return;
    const number = this.#socket.takeError();
    if (number !== 0) this.#fail(new SystemError('read', number));
  }

  /** The connection failed: both directions are over. */
  #fail(error: Error): void {
    if (!this.#socket.isOpen) return;
    if (this.#linger) {
      this.#close(undefined);
      return;
    }
    this.#destroyed = true;
    this.#cause ??= error;
    this.#close(error);
  }

  /** @param cause `undefined` for a clean end, or an end without a reason. */
  #close(cause: Error | undefined): void {
    if (!this.#socket.isOpen) return;
    if (cause) this.#socket.reset();
    else this.#socket.close();
    this.#linger?.timer.cancel();
    this.#linger = undefined;
    this.#watchdog?.forget(this);
    const isClean = this.#ended && this.#shut && !cause;
    if (!isClean) this.#abandon(this.#cause ?? cause ?? new LinkClosedError());
    this.#destroyed = true;
    this.#closed?.resolve(this.#cause);
  }

  /** Rejects everything that is pending. */
  #abandon(reason: Error): void {
    this.#error ??= reason;
    this.#front = [];
    this.#pending = [];
    this.#takeWaiter()?.reject(reason);
    const { promise, reject } = this.#drain ?? {};
    this.#drain = undefined;
    // The next write meets the failure as well: a drain without a waiting writer is no rejection
    // to report.
    promise?.catch(() => undefined);
    reject?.(reason);
    if (this.#closing && !this.#shut) {
      this.#closing.promise.catch(() => undefined);
      this.#closing.reject(reason);
    }
    this.#failTransfers(reason);
  }

  #failTransfers(error: Error): void {
    this.#source?.fail(error);
    this.#sink?.fail(error);
  }

  #drained(): Promise<void> {
    this.#drain ??= Promise.withResolvers<void>();
    return this.#drain.promise;
  }

  #closedError(): Error {
    return this.#cause ?? new LinkClosedError();
  }

  #readError(): Error {
    return this.#error ?? this.#closedError();
  }

  #takeWaiter(): Waiter | undefined {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    if (waiter?.onAbort) waiter.signal?.removeEventListener('abort', waiter.onAbort);
    return waiter;
  }
}
