import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import {
  leafFacts,
  parseCaBundle,
  parseCertificateChain,
  parseServerKey,
  ServerCertificateError,
  trustedCertificates,
} from '../../src/certificates.ts';
import { TestAuthority } from '../../../../test/support/data/test-certificates.ts';

const authority = new TestAuthority();
const { cert, key } = authority.issue({ dns: ['server.test'] });
const chain = parseCertificateChain(Buffer.from(cert));

const refused = (work: () => unknown, part: string, message: string | RegExp): void =>
  assert.throws(work, (error) => {
    assert.ok(error instanceof ServerCertificateError);
    assert.equal(error.part, part);
    if (typeof message === 'string') assert.equal(error.message, message);
    else assert.match(error.message, message);
    return true;
  });

test('a chain keeps its order, and what stands between its certificates is skipped', () => {
  const text = `# leaf\n${cert}notes\n${authority.cert}`;
  const parsed = parseCertificateChain(Buffer.from(text));
  assert.equal(parsed, `${cert.trim()}\n${authority.cert.trim()}\n`);
});

test('keys are taken as PKCS#8 and SEC1, and from the file of the certificate', () => {
  const sec1 = createPrivateKey(key).export({ type: 'sec1', format: 'pem' });
  for (const text of [key, sec1, cert + key, `\ufeff${key}`]) {
    assert.match(parseServerKey(Buffer.from(text), chain), /^-----BEGIN (EC )?PRIVATE KEY-----/);
  }
});

test('a key in PKCS#1 is a key', () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pkcs1 = privateKey.export({ type: 'pkcs1', format: 'pem' });
  refused(() => parseServerKey(Buffer.from(pkcs1), chain), 'key', 'no private key assigned');
});

test('an encrypted key is reported as such', () => {
  const options = { format: 'pem', cipher: 'aes-128-cbc', passphrase: 'secret' } as const;
  for (const type of ['pkcs8', 'sec1'] as const) {
    const text = createPrivateKey(key).export({ ...options, type });
    refused(() => parseServerKey(Buffer.from(text), chain), 'key', /encrypted/);
  }
});

test('the key of another certificate is rejected', () => {
  const other = authority.issue({ dns: ['server.test'] });
  refused(() => parseServerKey(Buffer.from(other.key), chain), 'key', 'no private key assigned');
});

test('files without a certificate or a key are rejected', () => {
  for (const text of ['', 'text', key]) {
    const what = 'no certificate in the file';
    refused(() => parseCertificateChain(Buffer.from(text)), 'certificate', what);
  }
  for (const text of ['', cert]) {
    refused(() => parseServerKey(Buffer.from(text), chain), 'key', 'no private key in the file');
  }
});

test('invalid certificates and keys are rejected', () => {
  const broken = cert.replace('MII', 'AII').replace('MIIB', 'AAAA');
  refused(
    () => parseCertificateChain(Buffer.from(broken)),
    'certificate',
    /^invalid certificate: /,
  );
  const bad = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n';
  refused(() => parseServerKey(Buffer.from(bad), chain), 'key', /^invalid private key: /);
  const locked = createPrivateKey(key).export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-128-cbc',
    passphrase: 'x',
  });
  const what = 'invalid private key: it is encrypted';
  refused(() => parseServerKey(Buffer.from(locked), chain), 'key', what);
});

test('a certificate has a name when its subjectAltName can be read and is not empty', () => {
  const named = authority.issue({ dns: ['server.test'] });
  const empty = authority.issue({});
  // The name of the tag 0x82 becomes a SEQUENCE, which is no GeneralName; the signature is not checked here.
  const der = Buffer.from(named.cert.replace(/-----[^-]+-----|\s/g, ''), 'base64');
  der.writeUInt8(0x30, der.indexOf('server.test') - 2);
  const malformed = `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`;
  assert.deepEqual(
    [named.cert, empty.cert, malformed].map((text) => leafFacts(text).hasName),
    [true, false, false],
  );
});

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
