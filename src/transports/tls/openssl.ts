import type { Clock } from '../../net/time/clock.ts';
import type { AlpnChoice } from '../../platform/tls/alpn.ts';
import { systemSockets } from '../../net/sockets/system-sockets.ts';
import { streamTls } from '../../platform/tls/stream-tls-library.ts';
import type { StreamTlsLibrary } from '../../platform/tls/stream-tls-library.ts';
import type { TlsClientSpec, TlsServerSpec } from '../../spec.ts';
import { OpensslClient } from './openssl-client.ts';
import { OpensslServer } from './openssl-server.ts';

/** OpenSSL, where the kernel's sockets are in use and it can be called; elsewhere Node's TLS is used. */
function library(): StreamTlsLibrary | undefined {
  if (systemSockets().kind !== 'kernel') return undefined;
  const probe = streamTls();
  return probe.kind === 'available' ? probe.library : undefined;
}

/** `undefined` where Node's TLS is to be used. */
export function opensslClient(
  spec: TlsClientSpec,
  alpn: readonly string[],
  clock: Clock,
): OpensslClient | undefined {
  const openssl = library();
  return openssl && new OpensslClient(openssl, spec, alpn, clock);
}

/**
 * `undefined` where Node's TLS is to be used.
 * @throws {ServerCertificateError} when OpenSSL refuses the certificate or the key.
 */
export function opensslServer(
  spec: TlsServerSpec,
  choose: AlpnChoice,
  clock: Clock,
): OpensslServer | undefined {
  const openssl = library();
  return openssl && new OpensslServer(openssl, spec, choose, clock);
}
