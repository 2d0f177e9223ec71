import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { trustedCertificates } from '../../crypto/ca-bundle.ts';

/** Matches the PEM blocks that PEM_read_bio_X509(3) accepts. */
const CERTIFICATE =
  /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^-]+-----END (?:X509 |TRUSTED )?CERTIFICATE-----/g;

/** The file and the folder from which OpenSSL loads trusted certificates. */
export interface CertificatePaths {
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
