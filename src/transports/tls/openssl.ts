import type { Clock } from '../../net/time/clock.ts';
import type { AlpnChoice } from '../../platform/tls/alpn.ts';
import { systemSockets } from '../../net/sockets/system-sockets.ts';
import { streamTls } from '../../platform/tls/stream-tls-library.ts';
import type { StreamTlsLibrary } from '../../platform/tls/stream-tls-library.ts';
import type { TlsClientSpec, TlsServerSpec } from '../../spec.ts';
import { OpensslClient } from './openssl-client.ts';
import { OpensslServer } from './openssl-server.ts';

/** Returns OpenSSL if it can be called and the kernel's sockets are in use; otherwise Node's TLS is used. */
function library(): StreamTlsLibrary | undefined {
  if (systemSockets().kind !== 'kernel') return undefined;
  const probe = streamTls();
  return probe.kind === 'available' ? probe.library : undefined;
}

/** Creates a TLS client on OpenSSL; `undefined` if Node's TLS is to be used. */
export function opensslClient(
  spec: TlsClientSpec,
  alpn: readonly string[],
  clock: Clock,
): OpensslClient | undefined {
  const openssl = library();
  return openssl && new OpensslClient(openssl, spec, alpn, clock);
}

/**
 * Creates a TLS server on OpenSSL; `undefined` if Node's TLS is to be used.
 * @throws {ServerCertificateError} if OpenSSL rejects the certificate or the key.
 */
export function opensslServer(
  spec: TlsServerSpec,
  choose: AlpnChoice,
  clock: Clock,
): OpensslServer | undefined {
  const openssl = library();
  return openssl && new OpensslServer(openssl, spec, choose, clock);
}
