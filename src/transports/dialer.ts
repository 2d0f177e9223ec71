import type { Endpoint } from '../net/addresses/address.ts';
import type { DialObserver } from '../net/dial-steps.ts';
import type { Carrier } from '../net/links/link.ts';
import type { DatagramUse, SocketObserver } from '../net/sockets/sockets.ts';

/** Checks an IP address before a connection to it is made. @throws {DialError} to reject it. */
export type Approach = (address: Endpoint) => SocketObserver | undefined;

/** Options of a dial, the same for every carrier. */
export interface DialerOptions {
  readonly signal: AbortSignal;
  /** Called with each address before it is tried; for a shared connection, that of its first tunnel. */
  readonly approach?: Approach | undefined;
  /** Only dials of the same group share a connection; by default all are of one. */
  readonly group?: string | undefined;
  readonly observe?: DialObserver | undefined;
  /** For datagrams: the carrier is to end soon after the path to the server has died. */
  readonly use?: DatagramUse | undefined;
}

/** Opens carriers to one server, by the stream settings of one outbound. */
export interface Dialer {
  /** @throws {DialError} when the server is not reached, not authenticated or breaks a protocol. */
  dial(options: DialerOptions): Promise<Carrier>;
  /** Closes the connections that carriers share, and with them these carriers. */
  close(): void;
}
