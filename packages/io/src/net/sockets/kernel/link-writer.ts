import { SystemError } from '../../../platform/sockets/errno.ts';
import { AGAIN, type StreamSocket } from '../../../platform/sockets/streams/stream-socket.ts';
import { LinkClosedError } from '../../errors.ts';
import { copyOf, freeChunk } from '../../links/read-queue.ts';
import type { HalfOwner, HalfPump } from './link-half.ts';

/** A frame up to this size is gathered by copying; a longer one is sent piece by piece. */
const GATHERED_BYTES = 8 << 10;

/** The result of a send that failed, in place of a number of bytes. */
const FAILED = Symbol('the link failed');

/** A chunk queued for the kernel. */
interface Piece {
  /** The part that has not been sent. */
  rest: Uint8Array;
  /** The whole chunk, if the link owns its memory. */
  readonly owned: Uint8Array | undefined;
}

/** The sending half of a kernel link: bytes that the kernel does not take at once are queued. */
export class LinkWriter {
  readonly socket: StreamSocket;
  readonly owner: HalfOwner;
  bytesWritten = 0;
  /** Moves bytes to this half while it is set. */
  sink: HalfPump | undefined;
  /** Chunks that the kernel has not accepted yet. */
  #pending: Piece[] = [];
  #drain: PromiseWithResolvers<void> | undefined;
  #closing: PromiseWithResolvers<void> | undefined;
  #shut = false;
  #error: Error | undefined;

  constructor(socket: StreamSocket, owner: HalfOwner) {
    this.socket = socket;
    this.owner = owner;
  }

  /** Whether the end of this side has been sent. */
  get isShut(): boolean {
    return this.#shut;
  }

  /** Whether chunks are queued for the kernel. */
  get isWaiting(): boolean {
    return this.#pending.length > 0;
  }

  /** Number of bytes queued for the kernel. */
  get unsent(): number {
    return this.#pending.reduce((bytes, { rest }) => bytes + rest.length, 0);
  }

  /** Whether a transfer may begin, or a chunk be written. */
  get mayWrite(): boolean {
    return !this.#error && !this.#closing && !this.#shut && !this.sink;
  }

  get closedError(): Error {
    return this.#error ?? new LinkClosedError();
  }

  /** Writes a chunk. @param isOwned whether the link takes over the memory of the chunk. */
  write(chunk: Uint8Array, isOwned: boolean): Promise<void> | undefined {
    if (!this.mayWrite) return Promise.reject(this.closedError);
    const owned = isOwned ? chunk : undefined;
    if (this.#pending.length > 0) return this.#queue(chunk, owned);
    const sent = this.#send(chunk, false);
    if (sent === FAILED) return Promise.reject(this.closedError);
    if (sent < chunk.length) return this.#queue(chunk.subarray(sent), owned);
    if (isOwned) freeChunk(chunk);
    return undefined;
  }

  /**
   * Writes a chunk, and copies the part that the kernel does not accept at once.
   * @param more whether the kernel may delay a short segment for the next write, 200 ms at most.
   */
  lend(chunk: Uint8Array, more: boolean): Promise<void> | undefined {
    if (!this.mayWrite) return Promise.reject(this.closedError);
    const sent = this.#pending.length > 0 ? 0 : this.#send(chunk, more);
    if (sent === FAILED) return Promise.reject(this.closedError);
    if (sent === chunk.length) return undefined;
    const rest = copyOf(chunk.subarray(sent));
    return this.#queue(rest, rest);
  }

  /** Writes several chunks. @param isOwned whether the link takes over the memory of the chunks. */
  writeOutput(chunks: readonly Uint8Array[], isOwned: boolean): Promise<void> | undefined {
    if (!this.mayWrite) return Promise.reject(this.closedError);
    let length = 0;
    for (const chunk of chunks) length += chunk.length;
    if (this.#pending.length === 0 && length <= GATHERED_BYTES) return this.#gather(chunks, length);
    let drained: Promise<void> | undefined;
    for (const [index, chunk] of chunks.entries()) {
      const owned = isOwned ? chunk : undefined;
      if (this.#pending.length > 0) {
        drained = this.#queue(chunk, owned);
        continue;
      }
      const sent = this.#send(chunk, index < chunks.length - 1);
      if (sent === FAILED) return Promise.reject(this.closedError);
      if (sent < chunk.length) drained = this.#queue(chunk.subarray(sent), owned);
      else if (owned) freeChunk(owned);
    }
    return drained;
  }

  closeWrite(): Promise<void> {
    if (this.#shut) return Promise.resolve();
    if (this.#closing) return this.#closing.promise;
    if (!this.mayWrite) return Promise.reject(this.closedError);
    if (this.#pending.length === 0) {
      this.#shutdown();
      return Promise.resolve();
    }
    this.#closing = Promise.withResolvers();
    return this.#closing.promise;
  }

  /**
   * Sends the last bytes with the end of the stream: in one segment, which wakes the peer once, if the kernel accepts
   * them at once.
   */
  closeWith(last: Uint8Array): Promise<void> {
    if (!this.mayWrite) return Promise.reject(this.closedError);
    let left = last;
    if (this.#pending.length === 0) {
      const sent = this.#send(last, true);
      if (sent === FAILED) return Promise.reject(this.closedError);
      left = last.subarray(sent);
    }
    if (left.length > 0) void this.#queue(left);
    return this.closeWrite();
  }

  /** Resolves when the kernel has accepted all queued bytes. */
  drained(): Promise<void> {
    this.#drain ??= Promise.withResolvers<void>();
    return this.#drain.promise;
  }

  /** Called when the socket is writable. */
  onWritable(): void {
    if (this.sink) this.sink.pump();
    else if (this.#pending.length > 0) this.#flush();
  }

  /** Rejects pending writes and every later one; queued bytes are dropped. */
  fail(reason: Error): void {
    this.#pending = [];
    this.close(reason);
  }

  /** Rejects pending writes and every later one; queued bytes are still sent. */
  close(reason: Error): void {
    this.#error ??= reason;
    const { promise, reject } = this.#drain ?? {};
    this.#drain = undefined;
    // The next write fails as well; a drain that no writer awaits must not be unhandled.
    promise?.catch(() => undefined);
    reject?.(reason);
    if (this.#closing && !this.#shut) {
      this.#closing.promise.catch(() => undefined);
      this.#closing.reject(reason);
    }
    this.sink?.fail(reason, 'to');
  }

  /**
   * Sends part of a chunk; returns the number of bytes that the kernel accepted, possibly 0. After FAILED the link is
   * closed.
   */
  #send(chunk: Uint8Array, more: boolean): number | typeof FAILED {
    let sent = 0;
    // After a short result there is no event: only EAGAIN arms one.
    while (sent < chunk.length && this.socket.writable) {
      const rest = sent === 0 ? chunk : chunk.subarray(sent);
      const count = this.#book(this.socket.send(rest, more));
      if (count === FAILED) return FAILED;
      sent += count;
    }
    return sent;
  }

  /** Sends small pieces in one call. */
  #gather(chunks: readonly Uint8Array[], length: number): Promise<void> | undefined {
    const { bytes } = this.socket.io.scratch;
    let at = 0;
    for (const chunk of chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    let sent = 0;
    if (length > 0 && this.socket.writable) {
      const count = this.#book(this.socket.sendScratch(length));
      if (count === FAILED) return Promise.reject(this.closedError);
      sent = count;
    }
    return sent === length ? undefined : this.write(copyOf(bytes.subarray(sent, length)), true);
  }

  #book(result: number): number | typeof FAILED {
    if (result >= 0) {
      this.bytesWritten += result;
      return result;
    }
    if (result === AGAIN) return 0;
    this.owner.peerFailed(new SystemError('write', -result));
    return FAILED;
  }

  #queue(rest: Uint8Array, owned?: Uint8Array): Promise<void> {
    if (rest.length > 0) this.#pending.push({ rest, owned });
    this.owner.waits();
    return this.drained();
  }

  #flush(): void {
    const pending = this.#pending;
    let done = 0;
    while (done < pending.length) {
      const piece = pending[done] as Piece; // within
      const { rest, owned } = piece;
      const sent = this.#send(rest, done < pending.length - 1);
      if (sent === FAILED) return;
      if (sent < rest.length) {
        piece.rest = rest.subarray(sent);
        break;
      }
      if (owned) freeChunk(owned);
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
    // When the peer has ended as well, the socket is closed next, which also sends a FIN.
    if (!this.owner.inputEnded) this.socket.shutdown();
    this.#closing?.resolve();
    this.owner.halfEnded();
  }
}
