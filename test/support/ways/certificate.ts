import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestAuthority } from '../data/test-certificates.ts';

/** The name that servers of ways with TLS are asked for. */
export const SERVER_NAME = 'server.test';

/** What a server shows. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** What servers show and clients trust, in files, and the authority's as PEM text too. */
export interface Certificate extends CertificateFiles {
  readonly caFile: string;
  readonly ca: string;
}

let made: { readonly files: Certificate; readonly authority: TestAuthority } | undefined;

/** One certificate for the whole process, in a folder that is removed with it. */
export function certificate(): Certificate {
  made ??= make();
  return made.files;
}

/** Replaces the server's certificate and key by new ones of the same authority, in their files. */
export function renewCertificate(): void {
  made ??= make();
  const { cert, key } = made.authority.issue({ dns: [SERVER_NAME] });
  writeFileSync(made.files.certFile, cert);
  writeFileSync(made.files.keyFile, key);
}

/** A certificate of the same authority with an RSA key, in files of `folder`. */
export function rsaCertificate(folder: string): CertificateFiles {
  made ??= make();
  const { cert, key } = made.authority.issue({ dns: [SERVER_NAME], rsa: true });
  const files = { certFile: join(folder, 'rsa.pem'), keyFile: join(folder, 'rsa-key.pem') };
  writeFileSync(files.certFile, cert);
  writeFileSync(files.keyFile, key);
  return files;
}

function make(): { readonly files: Certificate; readonly authority: TestAuthority } {
  const folder = mkdtempSync(join(tmpdir(), 'weir-certificate-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const authority = new TestAuthority();
  const { cert, key } = authority.issue({ dns: [SERVER_NAME] });
  const put = (name: string, pem: string): string => {
    const file = join(folder, name);
    writeFileSync(file, pem);
    return file;
  };
  const files = {
    certFile: put('cert.pem', cert),
    keyFile: put('key.pem', key),
    caFile: put('ca.pem', authority.cert),
    ca: authority.cert,
  };
  return { files, authority };
}
