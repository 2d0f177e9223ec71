import { toEndpoint } from '@weir/base/ip';
import { Descriptor, SystemError } from '../errno.ts';
import type { SocketOrigin } from '../descriptor-room.ts';
import { RECEIVE_SIZE, type KernelIo } from '../kernel-io.ts';
import {
  AF_UNIX,
  EAGAIN,
  EALREADY,
  EINPROGRESS,
  EINTR,
  EISCONN,
  IPPROTO_TCP,
  TCP_NOTSENT_LOWAT,
  EPOLLERR,
  EPOLLET,
  EPOLLHUP,
  EPOLLIN,
  EPOLLOUT,
  EPOLLPRI,
  EPOLLRDHUP,
  MSG_MORE,
  MSG_NOSIGNAL,
  NONBLOCK_CLOEXEC,
  SHUT_WR,
  SOCK_STREAM,
} from '../linux.ts';
import type { Readiness } from '../poller.ts';
import { familyOf, type SocketAddress } from '../sockaddr.ts';
import { fitCongestionControl, LOOK_AFTER, LOOK_AGAIN_AFTER } from './congestion-control.ts';
import { FIT_AFTER, FIT_AGAIN_AFTER } from './receive-buffers.ts';
import {
  bindToDevice,
  setOption,
  setZeroLinger,
  setTcpOptions,
  takeError,
  unacknowledgedBytes,
  unreadBytes,
} from '../socket-options.ts';

/** The result of `receive` and `send` when the call must be repeated after an event. */
export const AGAIN = -EAGAIN;

/** The result of a call that a signal interrupted before any byte was moved (signal(7)): the call is repeated. */
const INTERRUPTED = -EINTR;

/** Handles the readiness of a socket. */
export interface SocketOwner {
  /** Called when the socket is ready. @param failed whether the kernel reports an error. */
  onReady(failed: boolean): void;
}

const WATCHED = EPOLLIN + EPOLLPRI + EPOLLOUT + EPOLLRDHUP + EPOLLET;
const READABLE = EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLHUP | EPOLLERR;
const WRITABLE = EPOLLOUT | EPOLLHUP | EPOLLERR;
/** Events after which the end of the stream or an error may be read, which causes no further edge. */
const ENDING = EPOLLRDHUP | EPOLLHUP | EPOLLERR;

/**
 * Bytes of a TCP read that does not fill the buffer up to which the receive queue counts as empty. A larger read is
 * likely to be followed by more data at once: another read then costs less than another turn of the event loop.
 */
export const FEW_BYTES = 4 << 10;

/**
 * Starts connecting to the last encoded address.
 *
 * Connect(2) never returns EAGAIN for TCP: errno was overwritten by another call of this thread,
 * such as a futex of the garbage collector, before it was read. A second call returns the state of
 * the first.
 *
 * @returns 0, or the error number, usually EINPROGRESS.
 */
function connectError(
  { calls, addresses }: KernelIo,
  fd: number,
  length: number,
  isTcp: boolean,
): number {
  if (calls.connect(fd, addresses.at, length) === 0) return 0;
  const error = calls.errno();
  if (error !== EAGAIN || !isTcp) return error;
  if (calls.connect(fd, addresses.at, length) === 0) return 0;
  const second = calls.errno();
  if (second === EISCONN) return 0;
  return second === EALREADY || second === EAGAIN ? EINPROGRESS : second;
}

/**
 * A connected stream socket, TCP or unix, watched edge-triggered for its lifetime.
 *
 * `readable` and `writable` are set by events and cleared by EAGAIN. A short read also clears `readable` if it means
 * that the kernel has no more bytes, which saves most reads that would return EAGAIN: bytes that arrive later cause
 * another edge (epoll(7)). This holds for TCP unless the stream is ending or has urgent data; a unix socket also stops
 * at passed descriptors.
 */
export class StreamSocket implements Readiness {
  readonly io: KernelIo;
  /** Whether a read may succeed; `receive` returns AGAIN otherwise. */
  readable = true;
  writable = true;
  /**
   * Whether the peer has sent urgent data (RFC 9293 §3.8.5). `receive` skips it; splice(2)
   * permanently stops before it, and reports that nothing is available, or the end of the stream.
   */
  urgent = false;
  #isEnding = false;
  /** Bytes to receive until the kernel's buffer is looked at, and whether it is bounded: see `ReceiveBuffers`. */
  #unfitted = FIT_AFTER;
  #isBounded = false;
  /** Bytes to send until its congestion control is looked at: see `fitCongestionControl`. */
  #unlooked = LOOK_AFTER;
  /** See `limitUnsent`. */
  #unsentLimit = 0;
  readonly #descriptor: Descriptor;
  readonly #isTcp: boolean;
  readonly #slot: number;
  #owner: SocketOwner | undefined;
  #onConnected: ((error: SystemError | undefined) => void) | undefined;
  readonly #origin: SocketOrigin;
  #onClose: (() => void) | undefined;

  /**
   * Takes ownership of a descriptor, which is closed if it cannot be watched.
   * @param origin for the count of needed descriptors: see `DescriptorRoom`.
   * @throws {SystemError} if the kernel cannot watch it.
   */
  constructor(io: KernelIo, fd: number, isTcp: boolean, origin: SocketOrigin) {
    this.io = io;
    this.#descriptor = new Descriptor(io.calls, fd);
    this.#isTcp = isTcp;
    this.#origin = origin;
    try {
      this.#slot = io.poller.add(fd, this, WATCHED);
    } catch (error) {
      // A peer must not take this for the end of a stream without bytes.
      if (isTcp) setZeroLinger(io, fd);
      this.#descriptor.close();
      throw error;
    }
    io.room.opened(origin);
  }

  /**
   * Starts connecting.
   * @param onConnected called once, unless the socket is closed before; never synchronously.
   * @returns the socket, and whether it is already connected, in which case `onConnected` is not
   *   called.
   * @throws {SystemError} for a failure that the kernel reports immediately.
   */
  static connect(
    io: KernelIo,
    address: SocketAddress,
    onConnected: (error: SystemError | undefined) => void,
  ): { readonly socket: StreamSocket; readonly connected: boolean } {
    const { calls, addresses } = io;
    const family = familyOf(address);
    const target =
      'path' in address ? { address: address.path } : { address: address.host, port: address.port };
    const length = addresses.encode(address, family);
    const fd = calls.socket(family, SOCK_STREAM | NONBLOCK_CLOEXEC, 0);
    if (fd < 0) throw new SystemError('connect', calls.errno(), target);
    const isTcp = family !== AF_UNIX;
    let error: number;
    try {
      if (isTcp) setTcpOptions(io, fd);
      error = 'path' in address ? 0 : bindToDevice(io, fd, toEndpoint(address.host, address.port));
      if (error === 0) error = connectError(io, fd, length, isTcp);
    } catch (cause) {
      calls.close(fd);
      throw cause;
    }
    if (error !== 0 && error !== EINPROGRESS) {
      calls.close(fd);
      throw new SystemError('connect', error, target);
    }
    const socket = new StreamSocket(io, fd, isTcp, 'dialled');
    if (error !== 0) {
      socket.readable = socket.writable = false;
      const done = (failure: SystemError | undefined): void =>
        onConnected(failure && new SystemError('connect', -failure.errno, target));
      socket.#onConnected = done;
    }
    return { socket, connected: error === 0 };
  }

  /** The descriptor; -1 after close. */
  get fd(): number {
    return this.#descriptor.number;
  }

  get isOpen(): boolean {
    return this.#descriptor.number >= 0;
  }

  /** Sets the handler of later events. */
  set owner(owner: SocketOwner) {
    this.#owner = owner;
  }

  ready(events: number): void {
    this.io.calls.debug?.note(this.fd, `event ${events.toString(16)}`);
    if (events & READABLE) this.readable = true;
    if (events & EPOLLPRI) this.urgent = true;
    if (events & ENDING) this.#isEnding = true;
    if (events & WRITABLE) this.writable = true;
    if (this.#onConnected) {
      const done = this.#onConnected;
      this.#onConnected = undefined;
      const error = events & (EPOLLERR | EPOLLHUP) ? takeError(this.io, this.fd) : 0;
      done(error === 0 ? undefined : new SystemError('connect', error));
      return;
    }
    this.#owner?.onReady((events & EPOLLERR) !== 0);
  }

  /**
   * Receives into the shared memory.
   * @param most bytes to receive, from 1 to RECEIVE_SIZE
   * @returns the number of bytes, 0 at the end of the stream, AGAIN, or a negative error number.
   */
  receive(most: number = RECEIVE_SIZE): number {
    if (!this.readable) return AGAIN;
    const { calls, scratch } = this.io;
    for (;;) {
      const count = calls.recv(this.#descriptor.number, scratch.at, most, 0);
      if (count > FEW_BYTES || count === most) {
        this.received(count);
        return count;
      }
      if (count >= 0) {
        if (this.#isTcp && count > 0 && !this.#isEnding && !this.urgent) this.readable = false;
        return count;
      }
      const error = calls.errno();
      if (error === EINTR) continue;
      if (error === EAGAIN) this.readable = false;
      return -error;
    }
  }

  /**
   * Sends the first bytes of the shared memory. Returns the bytes sent, AGAIN, or a negative error
   * number.
   */
  sendScratch(length: number): number {
    const { calls, scratch } = this.io;
    for (;;) {
      const sent = calls.send(this.#descriptor.number, scratch.at, length, MSG_NOSIGNAL);
      const result = this.#result(sent);
      if (result !== INTERRUPTED) return result;
    }
  }

  /**
   * Sends a chunk.
   * @param more whether more follows immediately: the kernel then delays a short segment.
   * @returns the bytes sent, AGAIN, or a negative error number.
   */
  send(chunk: Uint8Array, more = false): number {
    const flags = more ? MSG_NOSIGNAL | MSG_MORE : MSG_NOSIGNAL;
    const fd = this.#descriptor.number;
    for (;;) {
      const result = this.#result(this.io.calls.sendBytes(fd, chunk, chunk.length, flags));
      if (result !== INTERRUPTED) return result;
    }
  }

  /** Counts received bytes, and bounds the kernel's buffer at times. */
  received(count: number): void {
    this.#unfitted -= count;
    if (this.#unfitted > 0 || !this.#isTcp) return;
    this.#isBounded = this.io.receiveBuffers.fit(this.#descriptor.number, this.#isBounded);
    this.#unfitted = this.#isBounded ? FIT_AGAIN_AFTER : FIT_AFTER;
  }

  /** Counts sent bytes, and fits the congestion control to the path at times. */
  sent(count: number): void {
    this.#unlooked -= count;
    if (this.#unlooked > 0 || !this.#isTcp) return;
    fitCongestionControl(this.io, this.#descriptor.number);
    this.#unlooked = LOOK_AGAIN_AFTER;
  }

  /**
   * Bounds what the kernel takes and has not sent yet; bytes in flight on a long path are not counted.
   * @param bytes 0 for no bound. Changes of less than a quarter are ignored.
   */
  limitUnsent(bytes: number): void {
    const before = this.#unsentLimit;
    if (!this.#isTcp || (bytes >= 0.75 * before && bytes <= 1.25 * before)) return;
    this.#unsentLimit = bytes;
    setOption(this.io, this.#descriptor.number, IPPROTO_TCP, TCP_NOTSENT_LOWAT, bytes);
  }

  /** Half-closes: the peer reads the end of the stream after all sent data. */
  shutdown(): void {
    this.io.calls.shutdown(this.#descriptor.number, SHUT_WR);
  }

  /** Sets the callback for when the descriptor is closed or transferred. */
  onClose(callback: () => void): void {
    if (this.isOpen) this.#onClose = callback;
    else callback();
  }

  /** Returns the number of bytes in the receive queue. */
  unread(): number {
    return this.isOpen ? unreadBytes(this.io, this.fd) : 0;
  }

  /**
   * Returns the number of bytes that the kernel has accepted and a TCP peer has not acknowledged; 0 for a unix socket.
   */
  untaken(): number {
    return this.isOpen && this.#isTcp ? unacknowledgedBytes(this.io, this.fd) : 0;
  }

  /** Returns and clears the pending error of the connection; 0 for none. */
  takeError(): number {
    return this.isOpen ? takeError(this.io, this.fd) : 0;
  }

  /** Sets whether the open socket keeps the process alive. */
  keepAlive(keeps: boolean): void {
    if (this.isOpen) this.io.poller.keepAlive(this.#slot, keeps);
  }

  /** Closes the socket. Idempotent. */
  close(): void {
    if (!this.isOpen) return;
    this.#forget();
    this.io.poller.remove(this.#slot);
    this.#descriptor.close();
  }

  /** Makes every close, including that by the end of the process, reset the connection (RFC 9293 §3.5.3). */
  resetOnClose(): void {
    if (this.isOpen && this.#isTcp) setZeroLinger(this.io, this.fd);
  }

  /** Closes with a reset; a unix socket is closed normally. */
  reset(): void {
    this.resetOnClose();
    this.close();
  }

  /** Transfers the descriptor to a socket of Node; -1 if it is closed. */
  release(): number {
    if (!this.isOpen) return -1;
    this.#forget();
    this.io.poller.detach(this.#slot, this.fd);
    return this.#descriptor.take();
  }

  #forget(): void {
    this.readable = this.writable = false;
    this.#owner = undefined;
    this.#onConnected = undefined;
    this.io.room.closed(this.#origin);
    const onClose = this.#onClose;
    this.#onClose = undefined;
    onClose?.();
  }

  /** Returns the result of a call that sends: the bytes, AGAIN, or a negative error number. */
  #result(count: number): number {
    if (count >= 0) {
      this.sent(count);
      return count;
    }
    const error = this.io.calls.errno();
    if (error === EAGAIN) this.writable = false;
    return -error;
  }
}
