import { createCipheriv, createDecipheriv, hkdfSync, type CipherGCMTypes } from 'node:crypto';
import { xchacha20poly1305 } from '@noble/ciphers/chacha.js';
import { blake3 } from '@noble/hashes/blake3.js';
import { atOnce } from '@weir/io/time';
import { ShadowsocksInbound } from '../../../../packages/proxy/src/protocols/shadowsocks/inbound.ts';
import { ShadowsocksUsers } from '../../../../packages/proxy/src/protocols/shadowsocks/shadowsocks-users.ts';
import type { MethodName } from '@weir/proxy/protocols/shadowsocks/methods';
import type {
  Ending,
  InboundClient,
  InboundHarness,
  User,
} from '../../../../packages/proxy/test/conformance/inbound/harness.ts';
import { KnownRandom } from '../../known-random.ts';
import { addressField, type Target } from './address.ts';

const TAG = 16;
/** That of a ManualClock. */
const NOW = Date.UTC(2026, 0, 1) / 1000;
/** Type, time and length. */
const FIXED = 1 + 8 + 2;

interface Cipher {
  seal(nonce: Buffer, plain: Uint8Array): Uint8Array;
  open(nonce: Buffer, sealed: Uint8Array): Uint8Array;
}

function ofNode(name: CipherGCMTypes, key: Uint8Array): Cipher {
  return {
    seal: (nonce, plain) => {
      const cipher = createCipheriv(name, key, nonce, { authTagLength: TAG });
      return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    open: (nonce, sealed) => {
      const cipher = createDecipheriv(name, key, nonce, { authTagLength: TAG });
      cipher.setAuthTag(sealed.subarray(-TAG));
      return Buffer.concat([cipher.update(sealed.subarray(0, -TAG)), cipher.final()]);
    },
  };
}

const ofNoble = (key: Uint8Array): Cipher => ({
  seal: (nonce, plain) => xchacha20poly1305(key, nonce).encrypt(plain),
  open: (nonce, sealed) => xchacha20poly1305(key, nonce).decrypt(sealed),
});

/** SIP004 and SIP022, written apart from Weir's own codec. */
class Chunks {
  readonly #cipher: Cipher;
  readonly #nonce: Buffer;

  constructor(method: MethodName, key: Uint8Array, salt: Uint8Array) {
    const length = key.length;
    const subkey = method.startsWith('2022-')
      ? blake3(Buffer.concat([key, salt]), {
          context: Buffer.from('shadowsocks 2022 session subkey'),
          dkLen: length,
        })
      : new Uint8Array(hkdfSync('sha1', key, salt, 'ss-subkey', length));
    const isX = method.startsWith('xchacha20');
    this.#nonce = Buffer.alloc(isX ? 24 : 12);
    const node = method.includes('chacha20') ? 'chacha20-poly1305' : `aes-${length * 8}-gcm`;
    this.#cipher = isX ? ofNoble(subkey) : ofNode(node as CipherGCMTypes, subkey);
  }

  seal(plain: Uint8Array): Uint8Array {
    return this.#cipher.seal(this.#next(), plain);
  }

  open(sealed: Uint8Array): Buffer {
    return Buffer.from(this.#cipher.open(this.#next(), sealed));
  }

  payload(all: Uint8Array, longest: number): Buffer {
    const out: Uint8Array[] = [];
    for (let at = 0; at < all.length; at += longest) {
      const part = all.subarray(at, at + longest);
      out.push(this.seal(Buffer.of(part.length >> 8, part.length & 0xff)), this.seal(part));
    }
    return Buffer.concat(out);
  }

  #next(): Buffer {
    const nonce = Buffer.from(this.#nonce);
    this.#nonce.writeUInt32LE(this.#nonce.readUInt32LE() + 1);
    return nonce;
  }
}

interface Options {
  /** A chain in the 2022 edition: the identity key, then the user's. */
  readonly keys: readonly Uint8Array[];
  readonly destination: Target;
  readonly seed: string;
  readonly seconds?: number;
}

class Client implements InboundClient {
  readonly #method: MethodName;
  readonly #key: Uint8Array;
  readonly #options: Options;
  readonly #salt: Buffer;
  readonly #chunks: Chunks;
  readonly #isModern: boolean;

  constructor(method: MethodName, options: Options) {
    this.#method = method;
    this.#options = options;
    this.#key = options.keys.at(-1) ?? Buffer.alloc(0);
    this.#salt = new KnownRandom(options.seed).bytes(this.#key.length);
    this.#chunks = new Chunks(method, this.#key, this.#salt);
    this.#isModern = method.startsWith('2022-');
  }

  first(payload: Uint8Array): Buffer {
    const address = addressField(this.#options.destination, 'socks');
    if (!this.#isModern) {
      return Buffer.concat([this.#salt, this.more(Buffer.concat([address, payload]))]);
    }
    const padding = Buffer.alloc(payload.length === 0 ? 3 : 0);
    const variable = Buffer.concat([address, Buffer.of(0, padding.length), padding, payload]);
    const fixed = Buffer.alloc(FIXED);
    fixed.writeBigUInt64BE(BigInt(this.#options.seconds ?? NOW), 1);
    fixed.writeUInt16BE(variable.length, 9);
    return Buffer.concat([
      this.#salt,
      ...this.#identities(),
      this.#chunks.seal(fixed),
      this.#chunks.seal(variable),
    ]);
  }

  more(payload: Uint8Array): Buffer {
    return this.#chunks.payload(payload, this.#isModern ? 0xffff : 0x3fff);
  }

  open(received: Buffer): { readonly payload: Buffer } {
    const { length } = this.#key;
    const payload: Buffer[] = [];
    const chunks = new Chunks(this.#method, this.#key, received.subarray(0, length));
    let at = length;
    let expected: number | undefined;
    if (this.#isModern && received.length > 0) {
      const end = at + FIXED + length + TAG;
      const fixed = chunks.open(received.subarray(at, end));
      if (fixed[0] !== 1 || !fixed.subarray(9, 9 + length).equals(this.#salt)) {
        throw new Error('not the response to this request');
      }
      expected = fixed.readUInt16BE(9 + length);
      at = end;
    }
    while (at < received.length) {
      const end = at + (expected ?? 2) + TAG;
      const plain = chunks.open(received.subarray(at, end));
      if (expected === undefined) expected = plain.readUInt16BE();
      else {
        payload.push(plain);
        expected = undefined;
      }
      at = end;
    }
    return { payload: Buffer.concat(payload) };
  }

  /** SIP023: a header for each key but the last. */
  #identities(): Buffer[] {
    return this.#options.keys.slice(1).map((next, i) => {
      const key = this.#options.keys[i] ?? next;
      const context = Buffer.from('shadowsocks 2022 identity subkey');
      const subkey = blake3(Buffer.concat([key, this.#salt]), { context, dkLen: key.length });
      const cipher = createCipheriv(`aes-${key.length * 8}-ecb`, subkey, null);
      return cipher.setAutoPadding(false).update(blake3(next).subarray(0, 16));
    });
  }
}

const BYTES: Readonly<Record<User | 'server', number>> = { server: 1, ann: 10, bob: 11, eve: 12 };

const keyOf = (method: MethodName, owner: User | 'server'): Buffer =>
  Buffer.alloc(method.includes('128') ? 16 : 32, BYTES[owner]);

/** The keys of a client: in the 2022 edition with the server's before that of the user. */
export const shadowsocksKeys = (method: MethodName, user: User, hasUsers: boolean): Buffer[] => {
  if (!hasUsers) return [keyOf(method, user === 'eve' ? 'eve' : 'server')];
  const own = keyOf(method, user);
  return method.startsWith('2022-') ? [keyOf(method, 'server'), own] : [own];
};

/** @param hasUsers whether each has a key, in place of one for all. */
export function shadowsocks(method: MethodName, { hasUsers = false } = {}): InboundHarness {
  const isModern = method.startsWith('2022-');
  const { length } = keyOf(method, 'server');
  const base64 = (owner: User | 'server'): string => keyOf(method, owner).toString('base64');
  const chain = (user: User): Buffer[] => shadowsocksKeys(method, user, hasUsers);
  const label = (user: User): string | undefined => (user === 'bob' ? undefined : user);
  const fixedEnd = length + (hasUsers ? 16 : 0) + FIXED + TAG;
  const rejected: Ending = isModern ? { how: 'end', after: 0 } : { how: 'reset', after: 10_000 };
  const request = (keys: readonly Uint8Array[], seconds = NOW): Buffer =>
    new Client(method, {
      keys,
      destination: { host: 'www.example', port: 80 },
      seed: 'rejected',
      seconds,
    }).first(Buffer.from('hello'));
  return {
    create: (users, context) => {
      const known = hasUsers
        ? users.map((user) => ({ key: base64(user), email: label(user) ?? '' }))
        : [];
      const settings = { method, key: base64('server'), users: known };
      return new ShadowsocksInbound(
        atOnce(ShadowsocksUsers.of(settings, context.memory)),
        context,
        new KnownRandom('server'),
      );
    },
    ...(hasUsers && { label }),
    client: (user, destination, seed) =>
      new Client(method, { keys: chain(user), destination, seed }),
    rejected,
    ...(isModern && {
      atOnce: fixedEnd,
      stopped: (sent: number): Ending =>
        sent === 0 || sent >= fixedEnd ? { how: 'end', after: 10_000 } : rejected,
    }),
    sealed: true,
    secret: isModern ? fixedEnd : length + 2 + TAG,
    runs: 10,
    rejections: [
      { name: 'noise', sends: Buffer.alloc(500, 5), error: /no user has/ },
      { name: 'another key', sends: request([keyOf(method, 'eve')]), error: /no user has/ },
      ...(isModern
        ? [-31, 31].map((off) => ({
            name: `a clock that is off by ${off} s`,
            sends: request(chain('ann'), NOW + off),
            error: /clocks/,
          }))
        : []),
      ...(hasUsers
        ? [
            ['the key of the server alone', [keyOf(method, 'server')]],
            [
              'a key of the user alone, or after another',
              [keyOf(method, 'eve'), keyOf(method, 'ann')],
            ],
            ['keys in another order', [keyOf(method, 'ann'), keyOf(method, 'server')]],
            [
              'an unknown user',
              [...(isModern ? [keyOf(method, 'server')] : []), keyOf(method, 'eve')],
            ],
            [
              'a longer chain',
              [keyOf(method, 'server'), keyOf(method, 'ann'), keyOf(method, 'bob')],
            ],
          ].flatMap(([name, keys]) =>
            // A legacy client has one key.
            isModern || (keys as Buffer[]).length === 1
              ? [
                  {
                    name: name as string,
                    sends: request(keys as Buffer[]),
                    error: /no user has/,
                  },
                ]
              : [],
          )
        : []),
    ],
  };
}
