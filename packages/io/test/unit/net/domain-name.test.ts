import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { normalizeDomain, isLocalhost } from '../../../src/net/addresses/addresses.ts';
import { CODE_POINT } from '../../../../../test/support/data/code-point.ts';

const GOOD: Readonly<Record<string, string>> = {
  'example.com': 'example.com',
  'EXAMPLE.Com.': 'example.com',
  '_dmarc.example': '_dmarc.example',
  printer: 'printer',
  '1.2.3.4.example': '1.2.3.4.example',
  '4chan.example': '4chan.example',
  'bücher.example': 'xn--bcher-kva.example',
  'BÜCHER。example': 'xn--bcher-kva.example',
  [`${'a'.repeat(63)}.example`]: `${'a'.repeat(63)}.example`,
};

for (const [host, name] of Object.entries(GOOD)) {
  test(`${JSON.stringify(host)} is asked as ${JSON.stringify(name)}`, () => {
    assert.equal(normalizeDomain(host), name);
  });
}

const BAD: Readonly<Record<string, string>> = {
  'an empty name': '',
  'the root': '.',
  'an empty label': 'a..example',
  'two final dots': 'example..',
  'a leading dot': '.example',
  'a label of 64': `${'a'.repeat(64)}.example`,
  'a name of 254': `${'a.'.repeat(126)}aa`,
  'a space': 'exam ple.com',
  'a NUL': 'example.com\0',
  'a line break': 'example.com\n',
  'a slash after a foreign letter': 'bücher/example.com',
  'a tab after a foreign letter': 'bü\tcher.example',
  'a port': 'example.com:53',
  'a short IPv4 form': '127.1',
  'an IPv4 address as one number': '2130706433',
  'a hexadecimal IPv4 address': '0x7f000001',
  'an IPv4 address in full-width digits': '１２７.０.０.１',
  'an IPv4 address with a final dot': '127.0.0.1.',
};

for (const [what, host] of Object.entries(BAD)) {
  test(`${what} is not a host name`, () => assert.equal(normalizeDomain(host), undefined));
}

test('localhost is this machine, and so is everything below it', () => {
  assert.equal(isLocalhost('localhost'), true);
  assert.equal(isLocalhost('a.localhost'), true);
  assert.equal(isLocalhost('notlocalhost'), false);
  assert.equal(isLocalhost('localhost.example'), false);
});

test('a canonical name is its own canonical form, whatever it came from', () => {
  fc.assert(
    fc.property(fc.string({ unit: CODE_POINT, maxLength: 80, size: 'max' }), (host) => {
      const name = normalizeDomain(host);
      if (name === undefined) return;
      assert.match(name, /^[a-z0-9._-]{1,253}$/);
      assert.equal(normalizeDomain(name), name);
    }),
    { numRuns: 2000 },
  );
});
