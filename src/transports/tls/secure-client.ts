import type { Socket } from 'node:net';
import type { Endpoint } from '../../net/addresses/address.ts';
import type { Carrier, WireCounter } from '../../net/links/link.ts';
import { endsOf, socketCarrier } from '../../net/sockets/node/socket-carrier.ts';
import type { ConnectOptions } from '../../net/sockets/sockets.ts';
import { systemSockets } from '../../net/sockets/system-sockets.ts';
import type { Clock } from '../../net/time/clock.ts';
import type { TlsClientSpec } from '../../spec.ts';
import { carrierOver } from '../carrier-over.ts';
import { NodeClient } from './node-client.ts';
import { opensslClient } from './openssl.ts';

/**
 * Opens the underlying TCP connection: calls `connect` for each address of the server to try, and `discard` for
 * connections that are not needed.
 */
export type TcpDial = <Made extends Carrier | Socket>(
  connect: (address: Endpoint, options: ConnectOptions) => Promise<Made>,
  discard: (made: Made) => void,
) => Promise<Made>;

export interface SecureDialOptions {
  readonly signal: AbortSignal;
  /** Called with the byte counter of the TCP connection, before the handshake. */
  readonly onWire?: ((wire: WireCounter) => void) | undefined;
}

/** A TLS connection to an authenticated server. */
export interface SecureConnection {
  readonly carrier: Carrier;
  /** The ALPN protocol that the server has chosen (RFC 7301); `undefined` without one. */
  readonly alpn: string | undefined;
}

/** A TLS client for one server. */
export interface SecureClient {
  /**
   * Dials `server` and performs the handshake; the connection is closed if the handshake fails.
   * @throws {DialError} of `dial`, or `upstream` if the server is not authenticated or the handshake fails, with the
   * reason as the cause.
   */
  connect(server: Endpoint, dial: TcpDial, options: SecureDialOptions): Promise<SecureConnection>;
}

/**
 * Creates a TLS client on OpenSSL over the kernel's sockets, or on Node's TLS and sockets if that is not available. The
 * client resumes the last session.
 *
 * @param alpn protocols to offer; empty to send no ALPN extension.
 */
export function secureClient(
  spec: TlsClientSpec,
  alpn: readonly string[],
  clock: Clock,
): SecureClient {
  const sockets = systemSockets();
  const openssl = opensslClient(spec, alpn, clock);
  if (openssl) {
    return {
      async connect(server, dial, { signal, onWire }) {
        const below = await dial(
          (address, options) => sockets.connect(address, options),
          ({ link }) => link.destroy(),
        );
        onWire?.(below.wire);
        const link = await openssl.connect(below.link, server, signal);
        return { carrier: carrierOver(below, link), alpn: link.alpn };
      },
    };
  }
  const node = new NodeClient(spec, alpn, clock);
  return {
    async connect(server, dial, { signal, onWire }) {
      const raw = await dial(
        (address, options) => sockets.connectSocket(address, options),
        (socket) => void socket.destroy(),
      );
      onWire?.(raw);
      const socket = await node.connect(raw, server, signal);
      const carrier = socketCarrier(socket, raw, endsOf(raw));
      return { carrier, alpn: socket.alpnProtocol || undefined };
    },
  };
}
