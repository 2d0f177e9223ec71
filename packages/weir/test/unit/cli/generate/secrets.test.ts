import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { password, presharedKey, uuid, wireguardKeys } from '@weir/nodes/accounts/new-secrets';
import { SystemRandomSource, type RandomSource } from '@weir/base/random';
import { METHODS, type MethodName } from '@weir/proxy/protocols/shadowsocks/methods';
import { findPeer, without } from '../../../../../../test/support/programs/peers.ts';

const random = new SystemRandomSource();

/** A source whose bytes are all the same. */
const constant = (byte: number): RandomSource => ({
  bytes: (length) => Buffer.alloc(length, byte),
  fill: (target) => void target.fill(byte),
  below: (limit) => byte % limit,
});

describe('generated secrets:', () => {
  test('a UUID has version 4 and the variant of the RFC, whatever the random bytes are', () => {
    assert.equal(uuid(constant(0xff)), 'ffffffff-ffff-4fff-bfff-ffffffffffff');
    assert.equal(uuid(constant(0)), '00000000-0000-4000-8000-000000000000');
    assert.notEqual(uuid(random), uuid(random));
  });

  test('a password has letters and digits, of which each occurs', () => {
    assert.match(password(random), /^[A-Za-z0-9]{24}$/);
    const many = password(random, 20_000);
    assert.equal(new Set(many).size, 62);
  });

  test('a key of a 2022 method has the length of the method, and of others a password', () => {
    const lengths: Partial<Record<MethodName, number>> = {
      '2022-blake3-aes-128-gcm': 16,
      '2022-blake3-aes-256-gcm': 32,
      '2022-blake3-chacha20-poly1305': 32,
    };
    for (const name of Object.keys(METHODS) as MethodName[]) {
      const key = presharedKey(random, name);
      const { [name]: length } = lengths;
      if (length === undefined) assert.match(key, /^[A-Za-z0-9]{24}$/, name);
      else assert.equal(Buffer.from(key, 'base64').length, length, name);
    }
  });

  test('a private key of WireGuard is clamped', () => {
    const bytes = Buffer.from(wireguardKeys(constant(0xff)).privateKey, 'base64');
    assert.equal(bytes.toString('hex'), `f8${'ff'.repeat(30)}7f`);
    const low = Buffer.from(wireguardKeys(constant(0)).privateKey, 'base64');
    assert.equal(low.toString('hex'), `${'00'.repeat(31)}40`);
  });

  test(
    'a public key of WireGuard is what wg makes of the private one',
    { skip: without('wg') },
    () => {
      const { privateKey, publicKey, presharedKey: shared } = wireguardKeys(random);
      const made = execFileSync(findPeer('wg') ?? '', ['pubkey'], { input: privateKey });
      assert.equal(made.toString().trim(), publicKey);
      assert.equal(Buffer.from(shared, 'base64').length, 32);
    },
  );
});
