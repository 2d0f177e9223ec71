import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { baselineBlake2b, openOpensslBlake2b } from '@weir/crypto/hash/blake2';
import { type RandomSource, SystemRandomSource } from '@weir/base/random';
import { Salamander, SALT_LENGTH } from '../../../../src/protocols/hysteria2/salamander.ts';

const random = new SystemRandomSource();

/** Salts that are always 1 to 8. */
const counted: RandomSource = {
  bytes: (length) => Buffer.from(Array.from({ length }, (_, index) => index + 1)),
  fill: (target) => {
    for (let index = 0; index < target.length; index++) target[index] = index + 1;
  },
  below: () => 0,
};

/** Made by Python's hashlib.blake2b(password + salt, digest_size=32). */
const VECTORS: readonly (readonly [password: string, payload: Buffer, datagram: string])[] = [
  [
    'average_password',
    Buffer.from(Array.from({ length: 70 }, (_, index) => index)),
    '01020304050607081821e2d11267eb1ee7a8c8cc6f6d0ff818c9bcc285b5144f813771ec8b0a7b7a' +
      '3801c2f13247cb3ec788e8ec4f4d2fd838e99ce2a595346fa11751ccab2a5b5a5861a2915227',
  ],
  ['x'.repeat(200), Buffer.from('hello'), '0102030405060708784c8f6ae7'],
];

for (const [name, hashes] of [
  ['baseline', baselineBlake2b],
  ['openssl', openOpensslBlake2b()],
] as const) {
  test(`known datagrams are sealed and opened with the ${name} hash, at any alignment`, () => {
    for (const [password, payload, datagram] of VECTORS) {
      const salamander = new Salamander(password, counted, hashes);
      for (let at = 0; at < 8; at++) {
        const out = Buffer.alloc(200, 0xee);
        const length = salamander.seal(payload, out, at);
        assert.equal(length, payload.length + salamander.overhead);
        assert.equal(out.toString('hex', at, at + length), datagram);
        assert.ok(out.subarray(0, at).every((byte) => byte === 0xee));
        assert.ok(out.subarray(at + length).every((byte) => byte === 0xee));
        assert.deepEqual(
          Buffer.from(salamander.open(out.subarray(at, at + length)) ?? []),
          payload,
        );
      }
    }
  });
}

test('what one side seals the other opens, wherever the datagrams lie', () => {
  const [left, right] = [new Salamander('secret', random), new Salamander('secret', random)];
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 1500, size: 'max' });
  fc.assert(
    fc.property(bytes, fc.nat(40), fc.nat(7), (payload, at, skew) => {
      const memory = new Uint8Array(payload.length + skew);
      memory.set(payload, skew);
      const out = new Uint8Array(1600);
      const length = left.seal(memory.subarray(skew), out, at);
      assert.deepEqual(memory.subarray(skew), payload);
      assert.deepEqual(right.open(out.subarray(at, at + length)), payload);
    }),
  );
});

test('each datagram has its own salt', () => {
  const salamander = new Salamander('secret', random);
  const out = Buffer.alloc(64);
  const salts = Array.from({ length: 100 }, () => {
    salamander.seal(Buffer.alloc(1), out, 0);
    return out.toString('hex', 0, SALT_LENGTH);
  });
  assert.equal(new Set(salts).size, salts.length);
});

test('a datagram without a payload is refused', () => {
  const salamander = new Salamander('secret', random);
  for (let length = 0; length <= SALT_LENGTH; length++) {
    assert.equal(salamander.open(new Uint8Array(length)), undefined);
  }
  assert.equal(salamander.open(new Uint8Array(SALT_LENGTH + 1))?.length, 1);
});

test('a password that is not ASCII is hashed in UTF-8', () => {
  const out = Buffer.alloc(32);
  new Salamander('pässwort', counted).seal(Buffer.alloc(4), out, 0);
  const opened = new Salamander(Buffer.from('pässwort').toString('utf8'), random).open(
    out.subarray(0, 12),
  );
  assert.deepEqual(Buffer.from(opened ?? []), Buffer.alloc(4));
});
