import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configProblem } from '@weir/server/loading';
import { certificate } from '../../../../../test/support/ways/certificate.ts';
import { reportText, written } from '../../../../../test/support/import/written.ts';

/* A server's document on a machine that lacks its certificate. */

const ABSENT = '/nonexistent/cert.pem';
const DOCUMENT = JSON.stringify({
  inbounds: [
    {
      type: 'trojan',
      tag: 'public',
      listen: '127.0.0.1',
      listen_port: 8443,
      users: [{ name: 'mia\n[api]', password: 'pw' }],
      tls: { enabled: true, certificate_path: ABSENT, key_path: ABSENT },
    },
    { type: 'socks', tag: 'local', listen: '127.0.0.1', listen_port: 1080 },
  ],
  outbounds: [
    { type: 'direct', tag: 'direct' },
    { type: 'socks', tag: 'up', server: 'a.example', server_port: 1080 },
  ],
  route: { rules: [{ inbound: ['public'], outbound: 'up' }], final: 'direct' },
});

test('an inbound without its files is in the new file as comments, with the reason', async () => {
  const result = await written(DOCUMENT);
  const { text } = result;
  assert.equal(await configProblem(text), undefined);
  assert.match(
    text,
    /^# inbounds\[0\] of the document, not in effect: cannot read tls\.cert_file .*: no such file or directory\n# \[\[inbound\]\]\n# tag = "public"$/m,
  );
  assert.match(text, /^\[\[inbound\]\]\ntag = "local"$/m);
  assert.match(text, /^inbound_tag = \["public"\]$/m);
  assert.match(
    reportText(result),
    /^inbound inbounds\[0\] skipped: cannot read .*; it is not in effect, and in the file as comments/m,
  );
});

test('the comments are the inbound, once its files exist', async () => {
  const { certFile, keyFile } = certificate();
  const { text } = await written(DOCUMENT);
  const block = /(?<=not in effect: .*\n)(?:# .*\n)+/.exec(text)?.[0] ?? '';
  const mended = text
    .replace(block, block.replaceAll(/^# /gm, ''))
    .replace(`cert_file = "${ABSENT}"`, `cert_file = ${JSON.stringify(certFile)}`)
    .replace(`key_file = "${ABSENT}"`, `key_file = ${JSON.stringify(keyFile)}`);
  assert.equal(await configProblem(mended), undefined);
  assert.match(mended, /^tag = "public"\nprotocol = "trojan"$/m);
});
