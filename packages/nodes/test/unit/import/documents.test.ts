import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { certificate } from '../../../../../test/support/ways/certificate.ts';
import { reportText, written } from '../../../../../test/support/import/written.ts';

/*
 * Whole documents beside what becomes of them: WEIR_WRITE_DOCS=1 writes the latter. Servers need the
 * files of a certificate, whose places are put in here.
 */

const FOLDER = join(import.meta.dirname, '../../../../../test/support/import/documents');
const WRITES = process.env['WEIR_WRITE_DOCS'] === '1';

for (const [name, what] of [
  ['sing-box-client', 'a client of sing-box, with groups, rules, DNS and a TUN device'],
  ['sing-box-server', 'a server of sing-box, with users of each protocol'],
  ['xray-client', 'a client of Xray, with balancers, rules and DNS'],
  ['xray-server', 'a server of Xray, with users of each protocol'],
] as const) {
  describe(what, () => {
    test('becomes the configuration and the report beside it', async () => {
      const { certFile, keyFile } = certificate();
      const source = readFileSync(join(FOLDER, `${name}.json`), 'utf8');
      const document = source.replaceAll('cert.pem', certFile).replaceAll('key.pem', keyFile);
      const found = await written(document);
      const text = found.text.replaceAll(certFile, 'cert.pem').replaceAll(keyFile, 'key.pem');
      for (const [suffix, actual] of [
        ['toml', text],
        ['report.txt', reportText(found)],
      ] as const) {
        const file = join(FOLDER, `${name}.${suffix}`);
        if (WRITES) writeFileSync(file, actual);
        else assert.equal(actual, readFileSync(file, 'utf8'));
      }
    });
  });
}
