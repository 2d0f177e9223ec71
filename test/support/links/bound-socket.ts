import { openSystemCalls, type SystemCalls } from '@weir/io/service';
import {
  NONBLOCK_CLOEXEC,
  SOCK_DGRAM,
  SOCK_STREAM,
} from '../../../packages/io/src/platform/sockets/linux.ts';
import {
  familyOf,
  SocketAddresses,
  type SocketAddress,
} from '../../../packages/io/src/platform/sockets/sockaddr.ts';
import type { Address } from '../data/address.ts';

/** A bound socket without an owner in Node, as a service manager holds one to pass it on. */
export class BoundSocket implements Disposable {
  readonly fd: number;
  readonly address: Address;
  readonly #calls: SystemCalls;

  constructor(kind: 'stream' | 'datagram', where: SocketAddress) {
    const calls = openSystemCalls();
    const addresses = new SocketAddresses(calls);
    const type = kind === 'stream' ? SOCK_STREAM : SOCK_DGRAM;
    this.#calls = calls;
    this.fd = calls.socket(familyOf(where), type | NONBLOCK_CLOEXEC, 0);
    const length = addresses.encode(where);
    const bound = calls.bind(this.fd, addresses.at, length) === 0;
    if (!bound || (kind === 'stream' && calls.listen(this.fd, 16) !== 0)) {
      throw new Error(`errno ${calls.errno()}`);
    }
    this.address = addresses.localOf(this.fd) ?? where;
  }

  get port(): number {
    if ('path' in this.address) throw new Error('a unix socket has no port');
    return this.address.port;
  }

  [Symbol.dispose](): void {
    this.#calls.close(this.fd);
  }
}
