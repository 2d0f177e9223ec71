import type { Endpoint } from '@weir/io/addresses';
import type { DialObserver } from '@weir/io';
import type { Carrier } from '@weir/io/links';
import type { DatagramUse, SocketObserver } from '@weir/io/sockets';

/** Called with each IP address before a connection to it is attempted. @throws {DialError} to reject the address. */
export type Approach = (address: Endpoint) => SocketObserver | undefined;

/** Options of a dial, independent of the carrier. */
export interface DialerOptions {
  readonly signal: AbortSignal;
  /** Called with each address before it is tried; for a shared connection, for that of its first tunnel only. */
  readonly approach?: Approach | undefined;
  /** Dials share connections only with dials of the same group; by default all belong to one group. */
  readonly group?: string | undefined;
  readonly observe?: DialObserver | undefined;
  /** The use of the carrier for datagrams, if any: it then ends soon after the path to the server has failed. */
  readonly use?: DatagramUse | undefined;
}

/** Opens carriers to one server, by the stream settings of one outbound. */
export interface Dialer {
  /** @throws {DialError} if the server is unreachable, fails authentication or violates a protocol. */
  dial(options: DialerOptions): Promise<Carrier>;
  /** Closes the shared connections, and with them their carriers. */
  close(): void;
}
