import assert from 'node:assert/strict';
import { test } from 'node:test';
import { X25519PrivateKey } from '../../src/x25519.ts';

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');
const hex = (part: Uint8Array | undefined): string => Buffer.from(part ?? []).toString('hex');

/** RFC 7748 §6.1. */
const ALICE = {
  own: '77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a',
  public: '8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a',
};
const BOB = {
  own: '5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb',
  public: 'de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f',
};
const SECRET = '4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742';

test('keys and secrets of X25519 are those of RFC 7748 §6.1', () => {
  for (const [one, other] of [
    [ALICE, BOB],
    [BOB, ALICE],
  ] as const) {
    const key = new X25519PrivateKey(bytes(one.own));
    assert.equal(hex(key.publicKey), one.public);
    assert.equal(hex(key.sharedSecret(bytes(other.public))), SECRET);
  }
});

test('there is no secret with a point of low order (RFC 7748 §6.1)', () => {
  const key = new X25519PrivateKey(bytes(ALICE.own));
  const eighth = 'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800';
  for (const point of ['00'.repeat(32), `01${'00'.repeat(31)}`, eighth]) {
    assert.equal(key.sharedSecret(bytes(point)), undefined, point);
  }
});

test('keys of another length are rejected', () => {
  const key = new X25519PrivateKey(bytes(ALICE.own));
  for (const length of [0, 31, 33]) {
    assert.throws(() => new X25519PrivateKey(new Uint8Array(length)), RangeError);
    assert.throws(() => key.sharedSecret(new Uint8Array(length)), RangeError);
  }
});
