/** A certificate for `localhost`, which the other examples use where a real server has one of a public authority. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Makes a certificate by the command `openssl`. Its files are removed when the process ends. */
export function makeCertificate(): { readonly cert_file: string; readonly key_file: string } {
  const folder = mkdtempSync(join(tmpdir(), 'weir-example-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'];
  const files = ['-keyout', key, '-out', cert];
  execFileSync('openssl', ['req', '-x509', ...kind, ...files, ...subject], { stdio: 'ignore' });
  return { cert_file: cert, key_file: key };
}
