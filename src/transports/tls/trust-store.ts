import { env, platform } from 'node:process';
import { trustedCertificates } from '../../crypto/ca-bundle.ts';
import type { QuicTlsLibrary } from '../../platform/quic-tls/quic-tls-library.ts';
import { CertificateSet, TrustStore } from '../../platform/quic-tls/quic-tls-trust.ts';
import { systemCertificates, type CertificatePaths } from './system-certificates.ts';

/**
 * Creates a trust store of the system's certificates and `extra` ones, for TLS on OpenSSL. Each of the `extra`
 * certificates is a trust anchor (RFC 5280 §6.1.1), whether it is self-signed or not, as in `trustContext`.
 *
 * @param extra PEM texts of one certificate each.
 * @throws {NativeError} for an invalid certificate among them.
 */
export function trustStore(library: QuicTlsLibrary, extra: readonly string[]): TrustStore {
  using own = new CertificateSet(library, extra);
  return new TrustStore(library, [systemSet(library), own], extra.length > 0);
}

/** The system's certificates, parsed once for all clients: takes 10 ms and 1 MB. */
let system: CertificateSet | undefined;

const systemSet = (library: QuicTlsLibrary): CertificateSet =>
  (system ??= CertificateSet.ofValid(library, systemPems(library)));

/** Returns the system's certificates; on other systems than Linux they are not in files. */
const systemPems = (library: QuicTlsLibrary): readonly string[] =>
  platform === 'linux' ? systemCertificates(defaultPaths(library)) : trustedCertificates([]);

function defaultPaths({ functions }: QuicTlsLibrary): CertificatePaths {
  return {
    file: env['SSL_CERT_FILE'] ?? functions.X509_get_default_cert_file(),
    folder: env['SSL_CERT_DIR'] ?? functions.X509_get_default_cert_dir(),
  };
}
