import { trustedCertificates } from '../../crypto/ca-bundle.ts';
import type { QuicTlsLibrary } from '../../platform/quic-tls/quic-tls-library.ts';
import { CertificateSet, TrustStore } from '../../platform/quic-tls/quic-tls-trust.ts';

/**
 * The system's certificates and `extra` ones, for TLS by OpenSSL itself.
 *
 * @param extra PEM, one certificate each.
 * @throws {NativeError} for an invalid certificate.
 */
export function trustStore(library: QuicTlsLibrary, extra: readonly string[]): TrustStore {
  using own = new CertificateSet(library, extra);
  return new TrustStore(library, [systemCertificates(library), own]);
}

/** Parsed once for all clients: takes 10 ms and 1 MB. */
let system: CertificateSet | undefined;

const systemCertificates = (library: QuicTlsLibrary): CertificateSet =>
  (system ??= new CertificateSet(library, trustedCertificates([])));
