import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What servers show in the cases with TLS; clients ask for this name and trust anything. */
export const SERVER_NAME = 'server.test';

/** A certificate in files and as PEM text. */
export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
}

let made: Certificate | undefined;

/** One self-signed certificate for the whole run, by openssl, in a folder that goes with this process. */
export function certificate(): Certificate {
  made ??= make();
  return made;
}

function make(): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'weir-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const kind = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2';
  const name = ['-subj', `/CN=${SERVER_NAME}`, '-addext', `subjectAltName=DNS:${SERVER_NAME}`];
  const args = [...kind.split(' '), ...name, '-keyout', keyFile, '-out', certFile];
  execFileSync('openssl', args, { stdio: 'pipe', timeout: 10_000 });
  return { certFile, keyFile, cert: readFileSync(certFile, 'latin1') };
}
