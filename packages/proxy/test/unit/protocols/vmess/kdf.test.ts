import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { BaselineSha256, chooseSha256 } from '@weir/crypto/hash/sha256';
import { userKey } from '../../../../src/protocols/vmess/header/header-seal.ts';
import { Kdf, Purpose } from '../../../../src/protocols/vmess/kdf.ts';
import { fnv1a } from '../../../../src/protocols/vmess/wire.ts';
import { referenceKdf } from '../../../../../../test/support/protocols/vmess/kdf-reference.ts';

const PURPOSES = Object.values(Purpose);

test('the reference of the key derivation gives the published value', () => {
  // v2fly/v2ray-core proxy/vmess/aead/kdf_test.go
  const path = ['', '2', '3'].map((number) => Buffer.from(`Demo Path for KDF Value Test${number}`));
  assert.equal(
    referenceKdf(Buffer.from('Demo Key for KDF Value Test'), path).toString('hex'),
    '53e9d7e1bd7bd25022b71ead07d8a596efc8a845c7888652fd684b4903dc8892',
  );
});

for (const [name, kdf] of [
  ['the compression in use', new Kdf(chooseSha256())],
  ['the baseline', new Kdf(new BaselineSha256())],
] as const) {
  describe(`the key derivation by ${name}`, () => {
    test('gives what Xray-core derives for a request', () => {
      // computed with Xray-core, proxy/vmess/aead
      const key = Buffer.from('74f98a1a68a6eef54f359bfc5d5a2547', 'hex');
      const authId = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex');
      const path = [authId, Buffer.from('1011121314151617', 'hex')] as const;
      for (const [made, expected] of [
        [kdf.derive(Purpose.authId, key, 16), 'de4f72f8b2a3e8794608ce0c502c367b'],
        [
          kdf.deriveBelow(Purpose.requestLengthKey, path, key, 16),
          'a6750d6880df8ccbb80a5f0c8ce57111',
        ],
        [kdf.deriveBelow(Purpose.requestLengthNonce, path, key, 12), '18b0a79df01b7e2b5cc72c7a'],
        [kdf.derive(Purpose.chunkLength, key, 16), '614843860ece33205dc369d847a88b3f'],
      ] as const) {
        assert.equal(Buffer.from(made).toString('hex'), expected);
      }
    });

    test('gives what the reference does, in any order of derivations', () => {
      const part = fc.uint8Array({ maxLength: 64, size: 'max' });
      fc.assert(
        fc.property(
          fc.constantFrom(...PURPOSES),
          fc.option(fc.tuple(part, part)),
          fc.uint8Array({ maxLength: 55, size: 'max' }),
          fc.integer({ min: 1, max: 32 }),
          (purpose, parts, key, length) => {
            const made = parts
              ? kdf.deriveBelow(purpose, parts, key, length)
              : kdf.derive(purpose, key, length);
            const expected = referenceKdf(key, [Buffer.from(purpose), ...(parts ?? [])]);
            assert.deepEqual(Buffer.from(made), expected.subarray(0, length));
          },
        ),
      );
    });

    test('gives results that later derivations leave as they are', () => {
      const made = kdf.derive(Purpose.authId, Buffer.alloc(16, 1), 16);
      const before = Buffer.from(made);
      kdf.derive(Purpose.authId, Buffer.alloc(16, 2), 16);
      assert.deepEqual(Buffer.from(made), before);
    });

    test('refuses parts that an HMAC would hash first, and keys of more than a block', () => {
      const { authId } = Purpose;
      const long = [Buffer.alloc(65), Buffer.alloc(0)] as const;
      assert.throws(() => kdf.deriveBelow(authId, long, Buffer.alloc(16), 16), RangeError);
      assert.throws(() => kdf.derive(authId, Buffer.alloc(56), 16), RangeError);
      assert.throws(() => kdf.derive(authId, Buffer.alloc(65), 16), RangeError);
    });
  });
}

test('the checksum of a header is FNV-1a', () => {
  // draft-eastlake-fnv, test vectors of 32 bits
  for (const [text, hash] of [
    ['', 0x811c9dc5],
    ['a', 0xe40c292c],
    ['foobar', 0xbf9cf968],
  ] as const) {
    assert.equal(fnv1a(Buffer.from(text)), hash);
  }
});

test('the key of an account is MD5 of its UUID and a constant', () => {
  // computed with Xray-core, common/protocol/id.go
  assert.equal(
    userKey('b8314fca25d94e0c9a1b1d3a5c7e9f10').toString('hex'),
    '74f98a1a68a6eef54f359bfc5d5a2547',
  );
});
