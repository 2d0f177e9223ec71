import type { SystemCalls } from './sockets/bindings.ts';
import { Descriptor } from './sockets/descriptor.ts';
import { SystemError } from './sockets/errno.ts';
import {
  AF_UNIX,
  EAGAIN,
  ENOBUFS,
  MSG_NOSIGNAL,
  NONBLOCK_CLOEXEC,
  SOCK_DGRAM,
} from './sockets/linux.ts';
import { SocketAddresses } from './sockets/sockaddr.ts';

/**
 * Sends datagrams to a unix socket, which Node does not support. Each is sent by a new socket, so
 * that different peers may be bound to the path over time.
 */
export class UnixDatagrams {
  readonly #calls: SystemCalls;
  readonly #addresses: SocketAddresses;
  readonly #path: string;

  /**
   * Opens a sender.
   * @param path begins with a NUL for an abstract socket.
   */
  constructor(calls: SystemCalls, path: string) {
    this.#calls = calls;
    this.#addresses = new SocketAddresses(calls);
    this.#path = path;
  }

  /**
   * Sends without blocking.
   * @returns false when the peer's queue is full.
   * @throws {SystemError} `ENOENT` or `ECONNREFUSED` if there is no peer, `EINVAL` for a path that is
   *   too long.
   */
  send(data: Uint8Array): boolean {
    const calls = this.#calls;
    const length = this.#addresses.encode({ path: this.#path });
    const fd = calls.socket(AF_UNIX, SOCK_DGRAM | NONBLOCK_CLOEXEC, 0);
    if (fd < 0) throw this.#error('socket');
    using socket = new Descriptor(calls, fd);
    if (calls.connect(socket.number, this.#addresses.at, length) !== 0) {
      throw this.#error('connect');
    }
    if (calls.sendBytes(socket.number, data, data.length, MSG_NOSIGNAL) >= 0) return true;
    const error = calls.errno();
    if (error === EAGAIN || error === ENOBUFS) return false;
    throw new SystemError('send', error, { address: this.#path });
  }

  #error(call: string): SystemError {
    return new SystemError(call, this.#calls.errno(), { address: this.#path });
  }
}
