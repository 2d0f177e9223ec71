import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, test } from 'node:test';
import { keyOfPassword } from '../../../../src/protocols/shadowsocks/keys.ts';
import {
  inboundSettings,
  outboundSettings,
} from '../../../../src/protocols/shadowsocks/settings.ts';
import { DecodeError } from '../../../../src/schema/errors.ts';
import { tableNode } from '../../../../../../test/support/schema/nodes.ts';

const K16 = Buffer.alloc(16, 3).toString('base64');
const K32 = Buffer.alloc(32, 4).toString('base64');
const AES128 = '2022-blake3-aes-128-gcm';
const AES256 = '2022-blake3-aes-256-gcm';
const CHACHA = '2022-blake3-chacha20-poly1305';

type Table = Parameters<typeof tableNode>[0];
const read = (table: Table) => inboundSettings(tableNode(table));
const readOut = (table: Table) => outboundSettings(tableNode(table));

describe('the method', () => {
  const spellings = {
    'aes-128-gcm': ['aes-128-gcm', 'AES-128-GCM', 'aead_aes_128_gcm', 'AEAD_AES_128_GCM'],
    'aes-256-gcm': ['aes-256-gcm', 'Aes-256-Gcm', 'aead_aes_256_gcm'],
    'chacha20-ietf-poly1305': [
      'chacha20-poly1305',
      'chacha20-ietf-poly1305',
      'AEAD_CHACHA20_POLY1305',
    ],
    'xchacha20-ietf-poly1305': ['xchacha20-poly1305', 'XChaCha20-IETF-Poly1305'],
    [AES128]: [AES128],
    [AES256]: [AES256],
    [CHACHA]: [CHACHA],
  };
  for (const [name, texts] of Object.entries(spellings)) {
    test(`${name} may be written ${texts.join(', ')}`, () => {
      for (const method of texts) {
        assert.equal(read({ method, password: K32 }).method, name);
        assert.equal(readOut({ method, password: K32 }).method, name);
      }
    });
  }

  const refused: Record<string, string[]> = {
    'unknown shadowsocks method': [
      '',
      'none',
      ' aes-128-gcm',
      'aes-128-gcm ',
      'aes-192-gcm',
      'aes-256-cfb',
      'constructor',
      '2023-blake3-aes-128-gcm',
    ],
    'unknown shadowsocks-2022 method': [
      '2022-',
      '2022-blake3-AES-128-gcm',
      '2022-blake3-aes-128-gcm ',
      '2022-blake3-chacha8-poly1305',
    ],
  };
  for (const [message, texts] of Object.entries(refused)) {
    for (const method of texts) {
      test(`${JSON.stringify(method)} is an ${message}`, () => {
        assert.throws(() => read({ method, password: K32 }), { message });
        assert.throws(() => readOut({ method, password: K32 }), { message });
      });
    }
  }
});

describe('a legacy password', () => {
  test('becomes the key that OpenSSL derives with MD5', () => {
    // The first half is MD5 of the password, the second MD5 of that and the password.
    const first = hash('md5', 'foobar', 'buffer');
    const second = hash('md5', Buffer.concat([first, Buffer.from('foobar')]), 'buffer');
    assert.deepEqual(keyOfPassword('foobar', 32), Buffer.concat([first, second]));
    assert.deepEqual(keyOfPassword('foobar', 16), first);
  });

  test('is used as it is, with colons and blanks, and may be empty', () => {
    for (const password of ['a:b', ' a ', '', 'ä']) {
      const key = keyOfPassword(password, 16).toString('base64');
      assert.deepEqual(read({ method: 'aes-128-gcm', password }).key, key);
      assert.deepEqual(readOut({ method: 'aes-128-gcm', password }).keys, [key]);
    }
  });
});

describe('a pre-shared key', () => {
  test('has the length of its method, and blanks around it are ignored', () => {
    assert.equal(read({ method: AES128, password: ` \t${K16}\n` }).key, K16);
    assert.equal(read({ method: AES256, password: K32 }).key, K32);
    assert.deepEqual(readOut({ method: CHACHA, password: K32 }).keys, [K32]);
  });

  test('that is too long is replaced by the start of its SHA-256', () => {
    for (const [method, length] of [
      [AES128, 16],
      [AES256, 32],
    ] as const) {
      const long = Buffer.alloc(33, 9);
      const key = hash('sha256', long, 'buffer').subarray(0, length).toString('base64');
      assert.equal(read({ method, password: long.toString('base64') }).key, key);
    }
  });

  test('that is too short is refused, on both sides', () => {
    const message = 'shadowsocks-2022: PSK too short';
    for (const password of ['', '  ', 'AAAA', Buffer.alloc(15).toString('base64')]) {
      assert.throws(() => read({ method: AES128, password }), { message });
      assert.throws(() => readOut({ method: AES128, password }), { message });
    }
    assert.throws(() => read({ method: AES256, password: K16 }), { message });
    assert.throws(() => readOut({ method: AES256, password: `${K32}:${K16}` }), { message });
  });

  test('that is not padded base64 of the standard alphabet is refused without being quoted', () => {
    for (const password of ['s3cret!', K16.replace('==', ''), '_-_-', `${K16}\u00a0x`]) {
      assert.throws(() => read({ method: AES128, password }), {
        message: 'shadowsocks-2022: PSK is not valid base64',
      });
    }
  });
});

describe('users', () => {
  test('have keys and labels; the shared legacy password is still required', () => {
    const users = [{ password: 'a', email: 'a@b' }, { password: 'b' }];
    assert.deepEqual(read({ method: 'aes-128-gcm', password: '', users }).users, [
      { key: keyOfPassword('a', 16).toString('base64'), email: 'a@b' },
      { key: keyOfPassword('b', 16).toString('base64'), email: '' },
    ]);
    assert.throws(() => read({ method: 'aes-128-gcm', users }), {
      message: 'missing field `password`',
    });
  });

  test('may be called clients, but not both', () => {
    const clients = [{ password: K16 }];
    assert.deepEqual(read({ method: AES128, password: K16, clients }).users.length, 1);
    assert.throws(() => read({ method: AES128, password: K16, users: [], clients }), {
      message: 'duplicate field `users`',
    });
  });

  test('each have a different password', () => {
    const users = [{ password: 'a' }, { password: 'a' }];
    assert.throws(() => read({ method: 'aes-128-gcm', password: '', users }), DecodeError);
    const same = [{ password: K16 }, { password: ` ${K16} ` }];
    assert.throws(() => read({ method: AES128, password: K16, users: same }), DecodeError);
  });

  test('of a 2022 method have keys of its length', () => {
    const users = [{ password: K16 }];
    assert.throws(() => read({ method: AES256, password: K32, users }), {
      message: 'shadowsocks-2022: PSK too short',
    });
  });

  test('of a 2022 method need AES; so does a chain of keys', () => {
    const message = 'shadowsocks-2022: multi-user requires an aes-gcm method';
    const users = [{ password: K32 }];
    assert.throws(() => read({ method: CHACHA, password: K32, users }), { message });
    assert.throws(() => readOut({ method: CHACHA, password: `${K32}:${K32}` }), { message });
    assert.equal(read({ method: CHACHA, password: K32, users: [] }).users.length, 0);
    assert.equal(read({ method: AES256, password: K32, users }).users.length, 1);
    assert.deepEqual(readOut({ method: AES128, password: `${K16}: ${K16}` }).keys, [K16, K16]);
  });
});

test('unknown keys are refused', () => {
  const message = 'unknown field `level`, expected one of `method`, `password`, `users`, `clients`';
  assert.throws(() => read({ method: AES128, password: K16, level: 1 }), { message });
  assert.throws(() => readOut({ method: AES128, password: K16, users: [] }), DecodeError);
});
