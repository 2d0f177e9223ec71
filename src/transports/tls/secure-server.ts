import type { AcceptedConnection } from '../../net/sockets/sockets.ts';
import type { Clock } from '../../net/time/clock.ts';
import type { Carrier } from '../../net/links/link.ts';
import { socketCarrier } from '../../net/sockets/node/socket-carrier.ts';
import type { AlpnChoice } from '../../platform/tls/alpn.ts';
import type { TlsServerSpec } from '../../spec.ts';
import { opensslServer } from './openssl.ts';
import { NodeServer } from './node-server.ts';

/** A TLS server, on OpenSSL or on Node's TLS. */
export interface SecureServer {
  /**
   * Performs the handshake on an accepted connection, which is closed if the handshake fails.
   * @throws {WeirError} if the client closes the connection, offers nothing supported, or takes too long.
   */
  accept(connection: AcceptedConnection): Promise<Carrier>;
}

/**
 * Creates a TLS server on OpenSSL over the kernel's sockets, or on Node's TLS and sockets if that is not available.
 *
 * @throws when the certificate cannot be used.
 */
export function secureServer(spec: TlsServerSpec, choose: AlpnChoice, clock: Clock): SecureServer {
  const direct = opensslServer(spec, choose, clock);
  if (direct) {
    return {
      async accept(connection) {
        const { remote, local } = connection;
        const wire = connection.link();
        return { link: await direct.accept(wire), wire, remote, local };
      },
    };
  }
  const node = new NodeServer(spec, choose, clock);
  return {
    async accept(connection) {
      const raw = connection.socket();
      return socketCarrier(await node.accept(raw), raw, connection);
    },
  };
}
