import type { Endpoint } from '../net/addresses/address.ts';
import type { DialObserver } from '../net/dial-steps.ts';
import type { Carrier } from '../net/links/link.ts';
import type { DatagramUse, SocketObserver } from '../net/sockets/sockets.ts';

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
