import { resolve } from 'node:path';
import { type IpEndpoint, toEndpoint } from '@weir/base/ip';
import type { NativeMemory } from './native-memory.ts';
import type { SystemCalls } from './sockets/bindings.ts';
import { Descriptor, SystemError } from './sockets/errno.ts';
import {
  AF_UNIX,
  EAGAIN,
  ENOBUFS,
  F_DUPFD_CLOEXEC,
  F_GETFL,
  F_SETFD,
  F_SETFL,
  FD_CLOEXEC,
  MSG_NOSIGNAL,
  NONBLOCK_CLOEXEC,
  O_NONBLOCK,
  SO_ACCEPTCONN,
  SO_TYPE,
  SOCK_DGRAM,
  SOCK_STREAM,
  SOL_SOCKET,
} from './sockets/linux.ts';
import { type SocketAddress, SocketAddresses } from './sockets/sockaddr.ts';
import { getOption } from './sockets/socket-options.ts';

/** A listening stream socket, or a datagram socket. */
type PassedKind = 'stream' | 'datagram';

/** A descriptor passed by a service manager, with its name. */
export interface PassedDescriptor {
  readonly fd: number;
  readonly name: string;
}

/** The exclusive use of a passed socket, until it is released. */
export interface Claim {
  /** A non-blocking duplicate of the descriptor, closed by the claimant. */
  readonly fd: number;
  /** Releases the socket for the next claimant. Idempotent. */
  release(): void;
}

interface PassedSocket extends PassedDescriptor {
  readonly kind: PassedKind;
  readonly address: string;
  readonly key: string;
  /** Whether the socket was ever claimed. */
  used: boolean;
  claimed: boolean;
}

/**
 * Bound sockets passed by a service manager: sd_listen_fds(3). A listener at the address of one
 * uses it instead of binding. The socket stays open for the lifetime of the process, so that
 * reloads may release and claim its address again; input waits in the kernel meanwhile.
 */
export class PassedSockets {
  readonly #calls: SystemCalls;
  readonly #option: NativeMemory;
  readonly #sockets: PassedSocket[] = [];
  readonly #unusable: string[] = [];

  /** Makes the descriptors close-on-exec, so that no child process inherits them. */
  constructor(calls: SystemCalls, descriptors: readonly PassedDescriptor[]) {
    this.#calls = calls;
    this.#option = calls.memory(16);
    const addresses = new SocketAddresses(calls);
    for (const descriptor of descriptors) this.#take(descriptor, addresses);
  }

  /** Descriptions of descriptors that no listener can use. */
  get unusable(): readonly string[] {
    return this.#unusable;
  }

  /** Descriptions of sockets that no listener has claimed yet. */
  get unused(): readonly string[] {
    return this.#sockets.filter(({ used }) => !used).map(describe);
  }

  /**
   * Returns the socket at an address, for a listener; `undefined` if none was passed or it is in use. IP
   * addresses may be in any form. Port 0 never matches.
   */
  claim(kind: PassedKind, where: SocketAddress | IpEndpoint): Claim | undefined {
    const key = keyOf(where);
    const socket = this.#sockets.find((one) => one.kind === kind && one.key === key);
    if (!socket || socket.claimed) return undefined;
    const fd = this.#calls.fcntl(socket.fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) return undefined;
    socket.claimed = true;
    socket.used = true;
    return {
      fd,
      release: () => {
        socket.claimed = false;
      },
    };
  }

  #take({ fd, name }: PassedDescriptor, addresses: SocketAddresses): void {
    const calls = this.#calls;
    const refuse = (reason: string): void => void this.#unusable.push(`${name} (${fd}): ${reason}`);
    if (calls.fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) return refuse('the descriptor is not open');
    const option = (which: number) =>
      getOption({ calls, option: this.#option }, fd, SOL_SOCKET, which);
    const type = option(SO_TYPE);
    if (type === undefined) return refuse('the descriptor is no socket');
    const address = addresses.localOf(fd);
    if (!address) return refuse('the address of the socket is of no known family');
    if (type !== SOCK_STREAM && type !== SOCK_DGRAM) return refuse('neither stream nor datagram');
    if (type === SOCK_STREAM && option(SO_ACCEPTCONN) !== 1) return refuse('it does not listen');
    if (type === SOCK_DGRAM && 'path' in address) return refuse('a unix datagram socket');
    // A flag of the open file, shared with the manager, which does not read from it.
    calls.fcntl(fd, F_SETFL, calls.fcntl(fd, F_GETFL, 0) | O_NONBLOCK);
    this.#sockets.push({
      fd,
      name,
      kind: type === SOCK_STREAM ? 'stream' : 'datagram',
      address: 'path' in address ? address.path : `${address.host} port ${address.port}`,
      key: keyOf(address),
      used: false,
      claimed: false,
    });
  }
}

const describe = ({ name, kind, address }: PassedSocket): string =>
  `${name} (${kind === 'datagram' ? 'UDP ' : ''}${address})`;

/** Returns the canonical key of an address. */
function keyOf(where: SocketAddress | IpEndpoint): string {
  if ('path' in where) return where.path.startsWith('\0') ? where.path : resolve(where.path);
  const endpoint = 'host' in where ? toEndpoint(where.host, where.port) : where;
  if (!endpoint) return 'host' in where ? `${where.host} ${where.port}` : '';
  const { a, b, c, d, port, scope } = endpoint;
  return [a, b, c, d, port, scope].join(' ');
}

/** The passed sockets of the process, like its descriptors. */
let adopted: PassedSockets | undefined;

/** Makes listeners of this process use passed sockets. Called once, before any socket is bound. */
export function adoptPassedSockets(sockets: PassedSockets): void {
  adopted = sockets;
}

/** Claims one of the passed sockets of this process, if any: see {@link PassedSockets.claim}. */
export const claimPassed = (
  kind: PassedKind,
  where: SocketAddress | IpEndpoint,
): Claim | undefined => adopted?.claim(kind, where);

/**
 * Sends datagrams to a unix socket, which Node does not support. Each is sent by a new socket, so
 * that different peers may be bound to the path over time.
 */
export class UnixDatagrams {
  readonly #calls: SystemCalls;
  readonly #addresses: SocketAddresses;
  readonly #path: string;

  /** Opens a sender. @param path begins with a NUL for an abstract socket. */
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
