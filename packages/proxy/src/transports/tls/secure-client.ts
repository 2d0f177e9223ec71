import type { Socket } from 'node:net';
import type { Endpoint } from '@weir/io/addresses';
import type { Carrier } from '@weir/io/links';
import { endsOf, socketCarrier } from '@weir/io/sockets';
import type { Clock } from '@weir/io/time';
import type { TlsClientSpec } from '../../spec.ts';
import { carrierOver, CARRIERS, SOCKETS, type TcpOpener } from '../dial-tcp.ts';
import { NodeClient } from './node-client.ts';
import { type OpensslClient, opensslClient } from './openssl.ts';

/** A TLS connection to an authenticated server. */
export interface SecureConnection {
  readonly carrier: Carrier;
  /** The ALPN protocol that the server has chosen (RFC 7301); `undefined` without one. */
  readonly alpn: string | undefined;
}

/** A TLS client for one server. */
export interface SecureClient<Below = Carrier | Socket> {
  /** Opens the TCP connection that `secure` runs on. */
  readonly below: TcpOpener<Below>;
  /**
   * Performs the handshake on a TCP connection, which is closed if the handshake fails.
   * @throws {DialError} `upstream` if the server is not authenticated or the handshake fails, with the reason as the
   * cause.
   */
  secure(below: Below, server: Endpoint, signal: AbortSignal): Promise<SecureConnection>;
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
  const openssl = opensslClient(spec, alpn, clock);
  return openssl ? overCarriers(openssl) : overSockets(new NodeClient(spec, alpn, clock));
}

const overCarriers = (client: OpensslClient): SecureClient<Carrier> => ({
  below: CARRIERS,
  async secure(below, server, signal) {
    const link = await client.connect(below.link, server, signal);
    return { carrier: carrierOver(below, link), alpn: link.alpn };
  },
});

const overSockets = (client: NodeClient): SecureClient<Socket> => ({
  below: SOCKETS,
  async secure(raw, server, signal) {
    const socket = await client.connect(raw, server, signal);
    const carrier = socketCarrier(socket, raw, endsOf(raw));
    return { carrier, alpn: socket.alpnProtocol || undefined };
  },
});
