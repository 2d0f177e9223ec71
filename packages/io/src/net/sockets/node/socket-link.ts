import type { Socket } from 'node:net';
import { type Endpoint, unmapIPv4 } from '../../addresses/addresses.ts';
import { SOCKET_LINGER_BYTES, SOCKET_LINGER_MS } from '../../bounds/queue-bounds.ts';
import { LinkClosedError } from '../../errors.ts';
import { DelayedReset } from '../../links/closing.ts';
import { type ByteLink, type Carrier, OWNED, type WireCounter } from '../../links/link.ts';
import { freeChunk, joined, ReadQueue } from '../../links/read-queue.ts';
import { systemClock } from '../../time/clock.ts';
import { openSelf } from '../../../platform/native.ts';
import { SIOCOUTQ, SO_LINGER, SOL_SOCKET } from '../../../platform/sockets/linux.ts';

/** The value `struct linger { int on; int seconds; }` of Linux (socket(7)) for an immediate reset. */
const AT_ONCE = new Uint8Array(new Int32Array([1, 0]).buffer);

interface NativeCalls {
  setsockopt(fd: number, level: number, name: number, value: Uint8Array, length: number): number;
  ioctl(fd: number, request: number, value: Uint8Array): number;
}

/** The native calls, bound with the first call, so that programs without resets do not load them. */
let bound: NativeCalls | false | undefined;

/**
 * Makes close reset a TCP socket, even with unsent or unread data. Node's own `resetAndDestroy`
 * fails while a half-close is in progress, and below TLS it crashes Node 26.10.
 * @returns false if the option could not be set; close is then an ordinary one.
 */
function resetNodeSocketOnClose(socket: Socket): boolean {
  bound ??= bind();
  const fd = bound === false ? undefined : descriptorOf(socket);
  if (bound === false || fd === undefined) return false;
  return bound.setsockopt(fd, SOL_SOCKET, SO_LINGER, AT_ONCE, AT_ONCE.length) === 0;
}

/** Returns the number of bytes that the kernel has accepted and a TCP peer has not acknowledged; 0 if unknown. */
export function untakenOfNodeSocket(socket: Socket): number {
  bound ??= bind();
  const fd = bound === false ? undefined : descriptorOf(socket);
  if (bound === false || fd === undefined || socket.remoteFamily === undefined) return 0;
  const count = new Int32Array(1);
  return bound.ioctl(fd, SIOCOUTQ, new Uint8Array(count.buffer)) === 0 ? (count[0] ?? 0) : 0;
}

function bind(): NativeCalls | false {
  if (process.platform !== 'linux') return false;
  try {
    const self = openSelf();
    return {
      setsockopt: self.func(
        'int setsockopt(int fd, int level, int name, const void *value, uint32_t length)',
      ),
      ioctl: self.func('int ioctl(int fd, unsigned long request, _Out_ void *value)'),
    };
  } catch {
    return false; // No native functions on this machine.
  }
}

/** Returns the descriptor of a socket, which Node exposes only on the handle; -1 once that is closed. */
function descriptorOf(socket: Socket): number | undefined {
  if (!('_handle' in socket)) return undefined;
  const handle: unknown = socket._handle;
  if (typeof handle !== 'object' || handle === null || !('fd' in handle)) return undefined;
  const { fd } = handle;
  return typeof fd === 'number' && fd >= 0 ? fd : undefined;
}

/** Payload in bytes of a full TLS record (RFC 8446 §5.1). */
const FULL_RECORD = 16_384;

/**
 * A kernel socket (TCP or unix), or TLS over one, as a ByteLink.
 *
 * The socket must have been made with `allowHalfOpen: true`. Reading is driven by `data` events:
 * the socket flows while a read is pending, and a chunk without a pending read pauses it, so that at
 * most one chunk is queued here and one high-water mark in the stream.
 *
 * TLS emits its records one by one, those of one read adjacent in one buffer: when more are expected,
 * they are passed on together (saves a third of the time of a stream over TLS).
 */
export class SocketLink implements ByteLink, WireCounter {
  readonly closed: Promise<Error | undefined>;
  readonly #socket: Socket;
  readonly #raw: Socket;
  readonly #queue = new ReadQueue<Uint8Array>();
  /** Adjacent records of one read. */
  #records: Uint8Array | undefined;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  #drain: PromiseWithResolvers<void> | undefined;
  #cause: Error | undefined;
  #destroyed = false;

  /** @param raw the kernel socket below, if `socket` is a TLS socket. */
  constructor(socket: Socket, raw: Socket = socket) {
    this.#socket = socket;
    this.#raw = raw;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
    socket.pause();
    socket.on('data', socket === raw ? this.#onData : this.#onRecord);
    socket.on('end', this.#onEnd);
    socket.on('drain', this.#onDrain);
    socket.on('error', this.#onError);
    socket.on('close', this.#onClose);
    // The peer may have reset the connection already.
    if (socket.destroyed) this.#onClose();
  }

  get bytesRead(): number {
    return this.#raw.bytesRead;
  }

  get bytesWritten(): number {
    return this.#raw.bytesWritten;
  }

  read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    const next = this.#queue.take(signal);
    if (this.#queue.wanted && this.#socket.isPaused()) this.#socket.resume();
    return next;
  }

  unread(chunk: Uint8Array): void {
    if (chunk.length > 0) this.#queue.unshift(chunk);
  }

  write(chunk: Uint8Array, isOwned = false): Promise<void> | undefined {
    const socket = this.#socket;
    if (!this.#writable()) return Promise.reject(this.#closedError());
    const isTls = socket !== this.#raw;
    // With an empty queue TLS encrypts or copies the whole chunk before it returns; a kernel socket
    // keeps the chunk itself until it is sent.
    const isCopied = isTls && socket.writableLength === 0;
    const mayContinue = socket.write(chunk);
    const isSent = socket.writableLength === 0;
    if (isOwned && (isTls ? isCopied : isSent)) freeChunk(chunk);
    // `write` returns false for a chunk of the high-water mark's size even if the kernel has accepted it.
    return mayContinue || isSent ? undefined : this.#drained();
  }

  writeOutput(chunks: readonly Uint8Array[], isOwned = false): Promise<void> | undefined {
    const socket = this.#socket;
    if (!this.#writable()) return Promise.reject(this.#closedError());
    if (isOwned) {
      // A copy, so that the chunks are freed at once; TLS would make one to join them.
      const whole = joined(chunks);
      for (const chunk of chunks) freeChunk(chunk);
      return this.write(whole, OWNED);
    }
    socket.cork();
    let ready = true;
    for (const chunk of chunks) ready = socket.write(chunk);
    socket.uncork();
    return ready ? undefined : this.#drained();
  }

  async closeWrite(): Promise<void> {
    const socket = this.#socket;
    if (socket.writableFinished) return;
    if (this.#destroyed || socket.destroyed) throw this.#closedError();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onFinish = (): void => {
      socket.off('close', onClose);
      resolve();
    };
    const onClose = (): void => {
      socket.off('finish', onFinish);
      reject(this.#closedError());
    };
    socket.once('finish', onFinish);
    socket.once('close', onClose);
    socket.end();
    await promise;
  }

  destroy(cause?: Error): void {
    if (this.#socket.destroyed) return;
    if (this.#destroyed) {
      if (cause) this.#reset();
      return;
    }
    this.#destroyed = true;
    this.#cause = cause;
    this.#queue.fail(cause ?? new LinkClosedError());
    // With a cause the stream is truncated: a reset reports that to the peer, where a plain close
    // would look like the complete body of a protocol that ends at end of stream. Over TLS as well,
    // since Node takes a connection that ends without close_notify for a complete one.
    if (cause) this.#reset();
    else if (this.#isHalfClosed()) this.#linger();
    else this.#socket.destroy();
  }

  resetAfterData(cause: Error): void {
    const [socket, raw] = [this.#socket, this.#raw];
    if (socket.destroyed || this.#destroyed) {
      this.destroy(cause);
      return;
    }
    this.#destroyed = true;
    this.#cause = cause;
    this.#queue.fail(cause);
    socket.pause();
    if (raw.remoteFamily !== undefined) resetNodeSocketOnClose(raw);
    const delayed = new DelayedReset(
      systemClock,
      () => socket.writableLength + raw.writableLength + untakenOfNodeSocket(raw),
      () => this.#reset(),
    );
    socket.once('close', () => delayed.cancel());
  }

  #writable(): boolean {
    return !this.#destroyed && this.#socket.writable;
  }

  /** Whether this side has ended, and the other has not. */
  #isHalfClosed(): boolean {
    const { writableFinished, readableEnded } = this.#socket;
    return writableFinished && !readableEnded && !this.#raw.destroyed;
  }

  /**
   * Reads and discards until the peer has ended as well (RFC 9112 §9.6): the kernel resets a connection
   * that is closed with unread bytes, and data that the peer has not read yet would be lost.
   */
  #linger(): void {
    const socket = this.#socket;
    const over = (): void => {
      timer.cancel();
      socket.destroy();
    };
    // The system's clock: this limit is not part of any protocol.
    const timer = systemClock.after(SOCKET_LINGER_MS, over);
    let left = SOCKET_LINGER_BYTES;
    socket.on('data', ({ length }: Uint8Array) => {
      left -= length;
      if (left < 0) over();
    });
    socket.once('end', over);
    socket.once('close', () => timer.cancel());
    socket.unref().resume();
  }

  #reset(): void {
    const [socket, raw] = [this.#socket, this.#raw];
    const isTcp = raw.remoteFamily !== undefined;
    if (isTcp && !resetNodeSocketOnClose(raw) && this.#mayReset()) raw.resetAndDestroy();
    else socket.destroy();
  }

  /** Whether Node's own reset is safe. */
  #mayReset(): boolean {
    // libuv fails while a half-close is under way (EINVAL), and Node would leak the open socket.
    if (this.#socket.writableEnded && !this.#socket.writableFinished) return false;
    // TLS must not write its queue to a socket that was closed.
    return this.#socket === this.#raw || this.#socket.writableLength === 0;
  }

  #drained(): Promise<void> {
    this.#drain ??= Promise.withResolvers<void>();
    return this.#drain.promise;
  }

  #closedError(): Error {
    return this.#cause ?? new LinkClosedError();
  }

  #onData = (chunk: Uint8Array): void => {
    const wanted = this.#queue.wanted;
    this.#queue.push(chunk);
    if (!wanted && !this.#destroyed) this.#socket.pause();
  };

  #onRecord = (record: Uint8Array): void => {
    const before = this.#records;
    const records = before ? joinedRecords(before, record) : record;
    if (before && !records) this.#flush();
    this.#records = records ?? record;
    // A short record is the last one of a write.
    const expectMore = record.length === FULL_RECORD && this.#records.length < FULL_RECORD * 4;
    if (!expectMore) this.#flush();
    else if (!before) setImmediate(this.#flush);
  };

  #flush = (): void => {
    const records = this.#records;
    this.#records = undefined;
    if (records) this.#onData(records);
  };

  #onEnd = (): void => {
    this.#flush();
    this.#queue.end();
  };

  #onDrain = (): void => {
    this.#drain?.resolve();
    this.#drain = undefined;
  };

  #onError = (error: Error): void => {
    this.#flush();
    this.#cause ??= error;
    this.#queue.end(error);
  };

  #onClose = (): void => {
    this.#flush();
    // The queue may still hold bytes for the reader.
    this.#queue.end(this.#closedError());
    if (this.#drain) {
      // The next write fails as well; a drain that no writer awaits must not be unhandled.
      this.#drain.promise.catch(() => undefined);
      this.#drain.reject(this.#closedError());
      this.#drain = undefined;
    }
    this.#resolveClosed(this.#cause);
  };
}

/** Returns one view of two adjacent chunks; `undefined` when they are not adjacent. */
function joinedRecords(first: Uint8Array, second: Uint8Array): Uint8Array | undefined {
  const adjacent =
    first.buffer === second.buffer && first.byteOffset + first.length === second.byteOffset;
  if (!adjacent) return undefined;
  return new Uint8Array(first.buffer, first.byteOffset, first.length + second.length);
}

/** The addresses of a connected kernel socket. */
interface SocketEnds {
  readonly remote: Endpoint | undefined;
  readonly local: Endpoint | undefined;
}

/** Returns the addresses of an open socket: the kernel forgets them with the connection. */
export const endsOf = (socket: Socket): SocketEnds => ({
  remote: endpointOf(socket.remoteAddress, socket.remotePort),
  local: endpointOf(socket.localAddress, socket.localPort),
});

/** Returns a socket as a carrier; `raw` is the kernel socket below TLS. */
export function socketCarrier(socket: Socket, raw: Socket, ends: SocketEnds): Carrier {
  const link = new SocketLink(socket, raw);
  return carrierOf(link, link, ends);
}

const carrierOf = (link: ByteLink, wire: WireCounter, ends: SocketEnds): Carrier => ({
  link,
  wire,
  ...ends,
});

const endpointOf = (host: string | undefined, port: number | undefined): Endpoint | undefined =>
  host === undefined || port === undefined ? undefined : { host: unmapIPv4(host), port };
