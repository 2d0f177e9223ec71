import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { trustedCertificates } from '../../crypto/ca-bundle.ts';

/** What PEM_read_bio_X509(3) accepts. */
const CERTIFICATE =
  /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^-]+-----END (?:X509 |TRUSTED )?CERTIFICATE-----/g;

/** Where OpenSSL looks for certificates. */
export interface CertificatePaths {
  readonly file: string;
  readonly folder: string;
}

/**
 * The distinct certificates of a system, in PEM: those that Node reads from the same places, of which
 * Debian's have each certificate four times (a file, a link to it with the hash as its name, and two
 * bundles). Node parses and encodes them all, which takes 57 ms in one piece; this takes 3.
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

/** @param seen inodes of files that were read, under whatever name. */
function certificatesIn(path: string, seen: Set<number>): readonly string[] {
  try {
    const stats = statSync(path);
    // Opening anything else, such as a pipe, could block.
    if (!stats.isFile() || seen.has(stats.ino)) return [];
    seen.add(stats.ino);
    return readFileSync(path, 'latin1').match(CERTIFICATE) ?? [];
  } catch {
    // As Node does: a link to nothing, a file for others.
    return [];
  }
}
