import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCaBundle, trustedCertificates } from '../../src/ca-bundle.ts';
import { TestAuthority } from '../../../../test/support/data/test-certificates.ts';

const one = new TestAuthority('one').cert.trim();
const two = new TestAuthority('two').cert.trim();

test('every certificate of a bundle is found, and what stands between them is skipped', () => {
  const text = `\ufeff# one\r\n${one.replaceAll('\n', '\r\n')}\nnotes\n${two}`;
  assert.deepEqual(parseCaBundle(Buffer.from(text)), [one.replaceAll('\n', '\r\n'), two]);
});

const EMPTY: Readonly<Record<string, string | Uint8Array>> = {
  'an empty file': '',
  text: 'no certificates here',
  'a key': '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n',
  'a truncated certificate': one.slice(0, -10),
  'bytes that are no text': Uint8Array.of(0xff, 0, 0x80, 0xfe),
};

for (const [what, content] of Object.entries(EMPTY)) {
  test(`${what} is a bundle without certificates`, () => {
    assert.throws(() => parseCaBundle(Buffer.from(content)), {
      code: 'ca_bundle',
      message: 'no certificate in CA PEM bundle',
    });
  });
}

test('extra certificates stand beside the others, each once', () => {
  const trusted = trustedCertificates([one, one]);
  assert.ok(trusted.length > 1);
  assert.equal(trusted.filter((each) => each === one).length, 1);
  assert.equal(new Set(trusted).size, trusted.length);
});
