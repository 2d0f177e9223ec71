import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'node:test';
import {
  baselineBlake2b,
  blake2s256,
  blake2sMac,
  chooseBlake2b,
  hmacBlake2s,
  openOpensslBlake2b,
  type SuffixedHashes,
} from '../../../src/hash/blake2.ts';

function digest(hashes: SuffixedHashes, prefix: Uint8Array, suffix: Uint8Array): string {
  const hash = hashes(prefix, suffix.length);
  hash.suffix.set(suffix);
  hash.compute();
  return Buffer.from(hash.digest).toString('hex');
}

const IMPLEMENTATIONS = { baseline: baselineBlake2b, openssl: openOpensslBlake2b() };

/** Of b2sum -l 256. */
const VECTORS: readonly (readonly [text: string, digest: string])[] = [
  ['', '0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8'],
  ['abc', 'bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319'],
];

for (const [name, hashes] of Object.entries(IMPLEMENTATIONS)) {
  test(`BLAKE2b-256 by the ${name} implementation has the known digests`, () => {
    for (const [text, expected] of VECTORS) {
      for (let cut = 0; cut <= text.length; cut++) {
        const [prefix, suffix] = [Buffer.from(text.slice(0, cut)), Buffer.from(text.slice(cut))];
        assert.equal(digest(hashes, prefix, suffix), expected);
      }
    }
  });
}

test('both implementations agree on everything', () => {
  const bytes = fc.uint8Array({ maxLength: 300, size: 'max' });
  fc.assert(
    fc.property(bytes, bytes, (prefix, suffix) => {
      assert.equal(
        digest(IMPLEMENTATIONS.openssl, prefix, suffix),
        digest(IMPLEMENTATIONS.baseline, prefix, suffix),
      );
    }),
  );
});

test('hashes with their own prefixes do not disturb each other', () => {
  const [first, second] = ['one', 'two'].map((text) =>
    IMPLEMENTATIONS.openssl(Buffer.from(text), 8),
  );
  assert.ok(first && second);
  first.compute();
  const before = Buffer.from(first.digest);
  second.compute();
  assert.deepEqual(Buffer.from(first.digest), before);
  first.compute();
  assert.deepEqual(Buffer.from(first.digest), before);
});

test('WEIR_CRYPTO=baseline chooses JavaScript', () => {
  assert.equal(chooseBlake2b('baseline'), baselineBlake2b);
  assert.notEqual(chooseBlake2b(''), baselineBlake2b);
});

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const ABC = Buffer.from('abc');
const [A, BC] = [ABC.subarray(0, 1), ABC.subarray(1)];

test('BLAKE2s of "abc" is that of RFC 7693 appendix B, in one part or several', () => {
  const expected = '508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982';
  assert.equal(hex(blake2s256(ABC)), expected);
  assert.equal(hex(blake2s256(A, BC)), expected);
});

// Computed with hashlib and hmac of Python 3.
test('keyed BLAKE2s and HMAC are different functions', () => {
  const key = Uint8Array.from({ length: 32 }, (_, index) => index);
  assert.equal(hex(blake2sMac(key, ABC)), '61ba5f165c194692e09d12520cc4c74a');
  const hmac = '0018bfddc0c878b3e270c6e59b35af01e164a42d89499c9447a90b58a4d60eb3';
  assert.equal(hex(hmacBlake2s(Buffer.from('key'), ABC)), hmac);
  assert.equal(hex(hmacBlake2s(Buffer.from('key'), A, BC)), hmac);
});
