import { env, platform } from 'node:process';
import { trustedCertificates } from '@weir/crypto/certificates';
import { type QuicTlsLibrary, CertificateSet, TrustStore } from '@weir/io/quic-tls';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Matches the PEM blocks that PEM_read_bio_X509(3) accepts. */
const CERTIFICATE =
  /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^-]+-----END (?:X509 |TRUSTED )?CERTIFICATE-----/g;

/** The file and the folder from which OpenSSL loads trusted certificates. */
interface CertificatePaths {
  readonly file: string;
  readonly folder: string;
}

/**
 * Returns the distinct certificates of a system, in PEM: the ones that Node reads from the same paths. On Debian these
 * have each certificate four times: as a file, as a link named by its hash, and in two bundles. Node parses and encodes
 * all of them, which blocks for 57 ms; this function takes 3 ms.
 *
 * @returns Node's bundled certificates if there are none.
 */
export function systemCertificates({ file, folder }: CertificatePaths): readonly string[] {
  const found = new Set<string>();
  const seen = new Set<number>();
  for (const path of [file, ...filesIn(folder)]) {
    for (const certificate of certificatesIn(path, seen)) found.add(certificate);
  }
  return found.size > 0 ? [...found] : trustedCertificates([]);
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    return [];
  }
}

/** @param seen inodes of files that were read, whatever their names. */
function certificatesIn(path: string, seen: Set<number>): readonly string[] {
  try {
    const stats = statSync(path);
    // Opening another kind of file, such as a pipe, could block.
    if (!stats.isFile() || seen.has(stats.ino)) return [];
    seen.add(stats.ino);
    return readFileSync(path, 'latin1').match(CERTIFICATE) ?? [];
  } catch {
    // A dangling link or an unreadable file is skipped, as Node does.
    return [];
  }
}

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
