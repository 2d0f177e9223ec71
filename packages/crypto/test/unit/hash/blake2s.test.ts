import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blake2s256, blake2sMac, hmacBlake2s } from '../../../src/hash/blake2s.ts';

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
