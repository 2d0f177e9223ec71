import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { kdf, kdf12, kdf16, Purpose } from '../../../../src/protocols/vmess/header-seal.ts';
import { userKey } from '../../../../src/protocols/vmess/auth-id.ts';
import { fnv1a } from '../../../../src/protocols/vmess/wire.ts';

describe('the key derivation', () => {
  test('gives the published value', () => {
    // v2fly/v2ray-core proxy/vmess/aead/kdf_test.go
    const path = ['', '2', '3'].map((number) => `Demo Path for KDF Value Test${number}`);
    assert.equal(
      kdf(Buffer.from('Demo Key for KDF Value Test'), ...path).toString('hex'),
      '53e9d7e1bd7bd25022b71ead07d8a596efc8a845c7888652fd684b4903dc8892',
    );
  });

  test('gives what Xray-core derives for a request', () => {
    // computed with Xray-core, proxy/vmess/aead
    const key = Buffer.from('74f98a1a68a6eef54f359bfc5d5a2547', 'hex');
    const authId = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex');
    const nonce = Buffer.from('1011121314151617', 'hex');
    for (const [made, expected] of [
      [kdf16(key, Purpose.authId), 'de4f72f8b2a3e8794608ce0c502c367b'],
      [kdf16(key, Purpose.requestLengthKey, authId, nonce), 'a6750d6880df8ccbb80a5f0c8ce57111'],
      [kdf12(key, Purpose.requestLengthNonce, authId, nonce), '18b0a79df01b7e2b5cc72c7a'],
      [kdf16(key, Purpose.chunkLength), '614843860ece33205dc369d847a88b3f'],
    ] as const) {
      assert.equal(made.toString('hex'), expected);
    }
  });

  test('gives keys and nonces as the beginning of it', () => {
    const whole = kdf(Buffer.from('key'), 'path');
    assert.deepEqual(kdf16(Buffer.from('key'), 'path'), whole.subarray(0, 16));
    assert.deepEqual(kdf12(Buffer.from('key'), 'path'), whole.subarray(0, 12));
  });

  test('tells a path from its parts', () => {
    const key = Buffer.from('key');
    assert.notDeepEqual(kdf(key, 'ab'), kdf(key, 'a', 'b'));
    assert.notDeepEqual(kdf(key, 'a', 'b'), kdf(key, 'b', 'a'));
    assert.deepEqual(kdf(key, 'a'), kdf(key, Buffer.from('a')));
  });

  test('refuses parts that an HMAC would hash first', () => {
    assert.doesNotThrow(() => kdf(Buffer.from('key'), Buffer.alloc(64, 1)));
    assert.throws(() => kdf(Buffer.from('key'), Buffer.alloc(65)), RangeError);
  });
});

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
