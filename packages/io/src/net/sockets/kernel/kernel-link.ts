import { SystemError } from '../../../platform/sockets/errno.ts';
import {
  type SocketOwner,
  type StreamSocket,
  AGAIN,
} from '../../../platform/sockets/streams/stream-socket.ts';
import { LINK_CLOSED } from '../../errors.ts';
import { DelayedReset } from '../../links/closing.ts';
import type { ByteLink, SpliceProgress, WireCounter } from '../../links/link.ts';
import { systemClock, type Timer } from '../../time/clock.ts';
import type { HalfOwner } from './link-half.ts';
import { LinkReader } from './link-reader.ts';
import { LinkWriter } from './link-writer.ts';
import { LinkTransfer } from './link-transfer.ts';
import type { LinkWatchdog, WatchedLink } from './watchdog.ts';
import { SOCKET_LINGER_BYTES, SOCKET_LINGER_MS } from '../../bounds/queue-bounds.ts';

/**
 * A kernel socket (TCP or unix) without a handle of Node, as a ByteLink: the lifetime of the
 * connection, and the halves that receive and send.
 */
export class KernelLink implements ByteLink, WireCounter, SocketOwner, HalfOwner, WatchedLink {
  readonly #socket: StreamSocket;
  readonly #watchdog: LinkWatchdog | undefined;
  readonly #reader: LinkReader;
  readonly #writer: LinkWriter;
  #cause: Error | undefined;
  #destroyed = false;
  #linger: Linger | undefined;
  #reset: DelayedReset | undefined;
  #closed: PromiseWithResolvers<Error | undefined> | undefined;

  /** Takes ownership of a connected socket. */
  constructor(socket: StreamSocket, watchdog?: LinkWatchdog) {
    this.#socket = socket;
    this.#watchdog = watchdog;
    this.#reader = new LinkReader(socket, this);
    this.#writer = new LinkWriter(socket, this);
    socket.owner = this;
  }

  get bytesRead(): number {
    return this.#reader.bytesRead;
  }

  get bytesWritten(): number {
    return this.#writer.bytesWritten;
  }

  get closed(): Promise<Error | undefined> {
    if (!this.#closed && !this.#socket.isOpen) return Promise.resolve(this.#cause);
    return (this.#closed ??= Promise.withResolvers()).promise;
  }

  get waitsFor(): { readonly input: boolean; readonly output: boolean } {
    return { input: this.#reader.isWaiting, output: this.#writer.isWaiting };
  }

  get socket(): StreamSocket {
    return this.#socket;
  }

  read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    return this.#reader.read(signal);
  }

  unread(chunk: Uint8Array): void {
    this.#reader.unread(chunk);
  }

  takeAhead(): Uint8Array | undefined {
    return this.#reader.takeFront();
  }

  write(chunk: Uint8Array, isOwned = false): Promise<void> | undefined {
    return this.#writer.write(chunk, isOwned);
  }

  lend(chunk: Uint8Array, more = false): Promise<void> | undefined {
    return this.#writer.lend(chunk, more);
  }

  writeOutput(chunks: readonly Uint8Array[], isOwned = false): Promise<void> | undefined {
    return this.#writer.writeOutput(chunks, isOwned);
  }

  closeWrite(): Promise<void> {
    return this.#writer.closeWrite();
  }

  closeWith(last: Uint8Array): Promise<void> {
    return this.#writer.closeWith(last);
  }

  destroy(cause?: Error): void {
    if (!this.#socket.isOpen) return;
    if (this.#destroyed) {
      // The socket lingers, or is about to be closed.
      if (cause) this.#close(cause);
      return;
    }
    this.#destroyed = true;
    this.#cause ??= cause;
    this.#reader.drop();
    if (!cause && this.#writer.isShut && !this.#reader.ended) this.#startLinger();
    // With a cause the stream is truncated, which a reset reports to the peer; in a protocol whose body ends with the
    // stream, a plain close would look complete.
    else this.#close(cause);
  }

  resetAfterData(cause: Error): void {
    if (!this.#socket.isOpen || this.#destroyed) {
      this.destroy(cause);
      return;
    }
    this.#destroyed = true;
    this.#cause ??= cause;
    this.#reader.drop();
    this.#reader.fail(cause);
    this.#writer.close(cause);
    // If the process ends meanwhile, a truncated stream must not look cleanly ended.
    this.#socket.resetOnClose();
    this.#reset = new DelayedReset(
      systemClock,
      () => this.#writer.unsent + this.#socket.untaken(),
      () => this.#close(cause),
    );
  }

  spliceTo(to: ByteLink, progress: SpliceProgress): Promise<void> | undefined {
    if (!(to instanceof KernelLink) || to === this) return undefined;
    const reader = this.#reader;
    if (reader.isInUse || reader.ended || reader.error || !to.#writer.mayWrite) return undefined;
    return LinkTransfer.run(reader, to.#writer, progress);
  }

  /** Called by the poller when the socket is readable or writable. @internal */
  onReady(failed: boolean): void {
    const socket = this.#socket;
    if (socket.readable) {
      if (this.#linger) this.#linger.swallow();
      else this.#reader.onReadable();
    }
    if (socket.isOpen && socket.writable) this.#writer.onWritable();
    if (failed && socket.isOpen) this.#onError();
  }

  /** Called by a half when it begins to wait for an event. @internal */
  waits(): void {
    this.#watchdog?.watch(this);
  }

  /** Whether the peer's end of stream has been read. @internal for the halves. */
  get inputEnded(): boolean {
    return this.#reader.ended;
  }

  /** Called by a half at its end: the end of both directions closes the link. @internal */
  halfEnded(): void {
    if (this.#reader.ended && this.#writer.isShut) this.#close(undefined);
  }

  /** Ends both directions after the connection failed. @internal for the halves. */
  fail(error: Error): void {
    if (!this.#socket.isOpen) return;
    if (this.#linger) {
      this.#close(undefined);
      return;
    }
    this.#destroyed = true;
    this.#cause ??= error;
    this.#close(error);
  }

  /**
   * Records the failure of the connection. Bytes received before are still read; then `fail` follows.
   * @internal for the halves.
   */
  peerFailed(error: Error): void {
    if (!this.#socket.isOpen) return;
    if (this.#destroyed || !this.#reader.mayHaveMore) {
      this.fail(error);
      return;
    }
    this.#cause ??= error;
    this.#writer.fail(error);
    this.#reader.failAtEnd(error);
    this.#closed?.resolve(error);
  }

  #startLinger(): void {
    this.#failHalves(LINK_CLOSED);
    this.#linger = new Linger(this.#socket, () => this.#close(undefined));
    this.#linger.swallow();
  }

  /** Reads an error of the socket that no call has returned. */
  #onError(): void {
    if (this.#linger) {
      this.#close(undefined);
      return;
    }
    const number = this.#socket.takeError();
    if (number !== 0) this.peerFailed(new SystemError('read', number));
  }

  /** Closes the socket. @param cause `undefined` for a clean end, or an end without a reason. */
  #close(cause: Error | undefined): void {
    if (!this.#socket.isOpen) return;
    if (cause) this.#socket.reset();
    else this.#socket.close();
    const lingered = this.#linger !== undefined; // then both halves have failed before
    this.#linger?.cancel();
    this.#linger = undefined;
    this.#reset?.cancel();
    this.#watchdog?.forget(this);
    const isClean = this.#reader.ended && this.#writer.isShut && !cause;
    if (!isClean && !lingered) this.#failHalves(this.#cause ?? cause ?? LINK_CLOSED);
    this.#destroyed = true;
    this.#closed?.resolve(this.#cause);
  }

  #failHalves(reason: Error): void {
    this.#reader.fail(reason);
    this.#writer.fail(reason);
  }
}

/**
 * Reads and discards on a destroyed link until the peer has ended as well (RFC 9112 §9.6): the
 * kernel resets a connection that is closed with unread bytes, and data that the peer has not read yet
 * would be lost.
 */
class Linger {
  readonly #socket: StreamSocket;
  readonly #over: () => void;
  /** The time limit; created only when the peer has to be waited for: most have ended by then. */
  #timer: Timer | undefined;
  #left = SOCKET_LINGER_BYTES;

  /** @param over called when the socket can be closed; never within this call. */
  constructor(socket: StreamSocket, over: () => void) {
    this.#socket = socket;
    this.#over = over;
  }

  /** Discards received data; the socket may be closed afterwards. */
  swallow(): void {
    while (this.#socket.isOpen) {
      const count = this.#socket.receive();
      if (count === AGAIN) {
        this.#wait();
        return;
      }
      this.#left -= Math.max(count, 0);
      if (count <= 0 || this.#left < 0) this.#over();
    }
  }

  cancel(): void {
    this.#timer?.cancel();
  }

  #wait(): void {
    if (this.#timer) return;
    // The system's clock: this limit is not part of any protocol.
    this.#timer = systemClock.after(SOCKET_LINGER_MS, this.#over);
    this.#socket.keepAlive(false);
  }
}
