import { Descriptor } from '../sockets/descriptor.ts';
import { SystemError } from '../sockets/errno.ts';
import type { KernelIo } from '../sockets/kernel-io.ts';
import { EAGAIN, EPOLLIN, NONBLOCK_CLOEXEC, SOCK_DGRAM } from '../sockets/linux.ts';
import type { Readiness } from '../sockets/poller.ts';
import { AF_NETLINK, NETLINK_ROUTE } from './netlink-socket.ts';

/**
 * Multicast groups (include/uapi/linux/rtnetlink.h): interfaces, then routes and rules of IPv4, then
 * those of IPv6.
 */
const GROUPS = 0x1 | 0x40 | 0x80 | 0x400 | (1 << 18);

/** Notifications taken in one turn; they only say that something has changed. */
const READS_A_TURN = 64;

/** Calls back whenever interfaces, routes or rules have changed. */
export class RouteWatch implements Readiness, Disposable {
  readonly #io: KernelIo;
  readonly #socket: Descriptor;
  readonly #slot: number;
  readonly #onChange: () => void;

  /** @throws {SystemError} */
  constructor(io: KernelIo, onChange: () => void) {
    this.#io = io;
    this.#onChange = onChange;
    const { calls } = io;
    const fd = calls.socket(AF_NETLINK, SOCK_DGRAM | NONBLOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0) throw new SystemError('socket', calls.errno());
    this.#socket = new Descriptor(calls, fd);
    try {
      // struct sockaddr_nl: family 0, port 4, groups 8.
      const { words, at } = io.scratch;
      words.set([AF_NETLINK, 0, GROUPS]);
      if (calls.bind(fd, at, 12) !== 0) throw new SystemError('bind', calls.errno());
      this.#slot = io.poller.add(fd, this, EPOLLIN, false);
    } catch (error) {
      this.#socket.close();
      throw error;
    }
  }

  ready(): void {
    const { calls, scratch } = this.#io;
    for (let i = 0; i < READS_A_TURN; i++) {
      const length = calls.recv(this.#socket.number, scratch.at, scratch.bytes.length, 0);
      // ENOBUFS says that notifications were lost, which is a change as well.
      if (length < 0 && calls.errno() === EAGAIN) break;
    }
    this.#onChange();
  }

  [Symbol.dispose](): void {
    if (this.#socket.number < 0) return;
    this.#io.poller.remove(this.#slot);
    this.#socket.close();
  }
}
