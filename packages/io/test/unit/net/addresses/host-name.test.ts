import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { decodeName, normalizeHost } from '../../../../src/net/addresses/addresses.ts';
import { CODE_POINT } from '../../../../../../test/support/data/code-point.ts';

const SPELLINGS: Readonly<Record<string, readonly string[]>> = {
  'blocked.example': [
    'blocked.example',
    'Blocked.EXAMPLE.',
    'ｂlocked.example',
    'blo\u00adcked.example',
    'blocked。example',
    'blocked．example｡',
    'ⓑⓛⓞⓒⓚⓔⓓ.example',
    'bloc\u212aed.example',
  ],
  'xn--bcher-kva.example': ['bücher.example', 'BU\u0308CHER.example.', 'XN--BCHER-KVA.example'],
  '_dmarc.example': ['_dmarc.example'],
  '127.0.0.1': [
    '127.0.0.1',
    '127.0.0.1.',
    '127.1',
    '0x7f.1',
    '0X7F000001',
    '2130706433',
    '017700000001',
    '①②⑦.0.0.1',
    '１２７。０。０。１',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1%1',
  ],
  '2001:db8::1': ['2001:db8::1', '2001:DB8:0:0::1', '2001:db8::1%eth0'],
  'fe80::1': ['fe80::1', 'FE80:0::1'],
  'fe80::1%eth0': ['fe80::1%eth0', 'FE80:0::1%eth0'],
  'febf::1%eth0': ['febf::1%eth0'],
  // Neither is link-local: the one begins otherwise, the other one was site-local (RFC 3879).
  '2080::1': ['2080::1%eth0'],
  'fec0::1': ['fec0::1%eth0'],
  'ff02::1%2': ['ff02::1%2'],
};

for (const [host, spellings] of Object.entries(SPELLINGS)) {
  for (const spelling of spellings) {
    test(`${JSON.stringify(spelling)} is ${host}`, () => {
      assert.equal(normalizeHost(spelling), host);
    });
  }
}

const NO_HOSTS = [
  '',
  '.',
  'a..example',
  'example..',
  'example。.',
  '.example',
  'a b.example',
  'ex%61mple.com',
  'bü/cher.example',
  'bü%41.example',
  'example.com:80',
  'foo.1',
  '256.1.1.1',
  '4294967296',
  '1.2.3.4.5',
  '[::1]',
  'a\u202eb.example',
  `${'a'.repeat(64)}.example`,
  `${'a.'.repeat(126)}aa`,
  'ü'.repeat(2000),
];

for (const text of NO_HOSTS) {
  test(`${JSON.stringify(text.slice(0, 20))} (${text.length}) is no host`, () => {
    assert.equal(normalizeHost(text), undefined);
  });
}

test('a name may be as long as DNS allows in any case, and a text to convert four times that', () => {
  const longest = `${'a.'.repeat(126)}a`;
  assert.equal(longest.length, 253);
  assert.equal(normalizeHost(longest), longest);
  assert.equal(normalizeHost(longest.toUpperCase()), longest);
  assert.equal(normalizeHost(`${longest}.`), longest);
  assert.equal(normalizeHost(`A${longest}`), undefined);
  // Soft hyphens are dropped.
  assert.equal(normalizeHost(`a${'\u00ad'.repeat(4 * 253 - 1)}`), 'a');
  assert.equal(normalizeHost(`a${'\u00ad'.repeat(4 * 253)}`), undefined);
});

test('a name on the wire that is an address in brackets or without them is that address', () => {
  for (const [text, host] of [
    ['[2001:DB8::1]', '2001:db8::1'],
    ['2001:DB8::1', '2001:db8::1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['192.0.2.1', '192.0.2.1'],
    ['[192.0.2.11', '[192.0.2.11'],
    ['1192.0.2.1]', '1192.0.2.1]'],
    ['a192.0.2.1b', 'a192.0.2.1b'],
    ['[a.example]', '[a.example]'],
    ['A.example', 'A.example'],
    // A zone has a meaning on the client's host alone; such a name is resolved to nothing.
    ['fe80::1%eth0', 'fe80::1%eth0'],
  ] as const) {
    assert.equal(decodeName(Buffer.from(text)), host, text);
  }
});

test('a normal form is its own normal form, whatever it came from', () => {
  const unit = fc.constantFrom('a', 'X', '1', '0x', '.', '。', '-', 'ü', '１', '\u00ad', ':', '%');
  const text = fc.oneof(fc.string({ unit, maxLength: 12 }), fc.string({ unit: CODE_POINT }));
  fc.assert(
    fc.property(text, (written) => {
      const host = normalizeHost(written);
      if (host === undefined) return;
      if (isIP(host) === 0) assert.match(host, /^[a-z0-9._-]{1,253}$/);
      assert.equal(normalizeHost(host), host);
    }),
    { numRuns: 5000 },
  );
});
