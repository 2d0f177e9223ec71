import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  AEAD_SHAPES,
  TAG_LENGTH,
  type AeadBackend,
  type AeadName,
} from '../../src/aead/contract.ts';
import { WeirError } from '@weir/base';
import { AEAD_VECTORS } from '../../../../test/support/data/aead-vectors.ts';

const NAMES = Object.keys(AEAD_SHAPES) as AeadName[];
const hex = (text: string): Buffer => Buffer.from(text, 'hex');

/** Runs the promise of AeadBackend (packages/crypto/src/aead/contract.ts) against an implementation. */
export function aeadConformance(title: string, backend: AeadBackend): void {
  describe(`${title} keeps the contract of an AEAD`, () => {
    for (const vector of AEAD_VECTORS) {
      const { aead, nonce, associated, plain, sealed } = vector;

      test(`${vector.name} (${vector.source}) is sealed and opened`, () => {
        using sealer = backend.sealer(aead, hex(vector.key));
        const out = Buffer.alloc(sealed.length / 2);
        sealer.seal(hex(nonce), hex(plain), out, hex(associated));
        assert.equal(out.toString('hex'), sealed);

        using opener = backend.opener(aead, hex(vector.key));
        const opened = Buffer.alloc(plain.length / 2);
        assert.equal(opener.open(hex(nonce), out, opened, hex(associated)), true);
        assert.equal(opened.toString('hex'), plain);
      });

      test(`${vector.name} is refused with any part changed, and opens again after that`, () => {
        using opener = backend.opener(aead, hex(vector.key));
        const out = Buffer.alloc(plain.length / 2);
        const zeros = out.toString('hex'); // what a refusal leaves behind
        const parts = { nonce: hex(nonce), sealed: hex(sealed), associated: hex(associated) };
        const open = (changed: Partial<typeof parts>): boolean => {
          const all = { ...parts, ...changed };
          return opener.open(all.nonce, all.sealed, out, all.associated);
        };
        for (const part of ['nonce', 'sealed', 'associated'] as const) {
          for (let bit = 0; bit < parts[part].length * 8; bit += 7) {
            const changed = Buffer.from(parts[part]);
            changed[bit >> 3]! ^= 1 << (bit & 7);
            assert.equal(open({ [part]: changed }), false, `bit ${bit} of ${part}`);
            if (plain !== zeros) assert.notEqual(out.toString('hex'), plain);
          }
        }
        // As Wycheproof does: special tags, and messages that were truncated or extended.
        for (const tag of [Buffer.alloc(16), Buffer.alloc(16, 0xff), Buffer.alloc(16, 0x80)]) {
          assert.equal(open({ sealed: Buffer.concat([hex(sealed).subarray(0, -16), tag]) }), false);
        }
        assert.equal(open({ sealed: hex(sealed).subarray(0, -1) }), false);
        assert.equal(
          open({ associated: Buffer.concat([hex(associated), Buffer.alloc(1)]) }),
          false,
        );
        assert.equal(open({}), true);
        assert.equal(out.toString('hex'), plain);
      });
    }

    for (const name of NAMES) {
      const { keyLength, nonceLength } = AEAD_SHAPES[name];
      const key = Buffer.alloc(keyLength, 1);
      const nonce = Buffer.alloc(nonceLength, 2);

      test(`${name} seals and opens in place, and leaves the bytes behind alone`, () => {
        using sealer = backend.sealer(name, key);
        using opener = backend.opener(name, key);
        const room = Buffer.alloc(200, 0xaa);
        const message = Buffer.from('in place');
        room.set(message);
        sealer.seal(nonce, room.subarray(0, message.length), room);
        const expected = Buffer.alloc(message.length + TAG_LENGTH);
        sealer.seal(nonce, message, expected);
        const { length } = expected;
        assert.deepEqual(room.subarray(0, length), expected);
        assert.ok(room.subarray(length).every((byte) => byte === 0xaa));
        assert.equal(opener.open(nonce, room.subarray(0, length), room), true);
        assert.deepEqual(room.subarray(0, message.length), message);
        assert.deepEqual(room.subarray(message.length, length), expected.subarray(message.length));
      });

      test(`${name} uses another key from then on`, () => {
        const other = Buffer.alloc(keyLength, 9);
        using sealer = backend.sealer(name, key);
        using fresh = backend.sealer(name, other);
        using opener = backend.opener(name, key);
        const plain = Buffer.from('under which key?');
        const [before, after, expected] = [0, 0, 0].map(() => Buffer.alloc(32)) as [
          Buffer,
          Buffer,
          Buffer,
        ];
        sealer.seal(nonce, plain, before);
        const given = Buffer.from(other);
        sealer.rekey(given);
        given.fill(0); // the key was copied
        sealer.seal(nonce, plain, after);
        fresh.seal(nonce, plain, expected);
        assert.deepEqual(after, expected);
        assert.notDeepEqual(after, before);
        const out = Buffer.alloc(16);
        assert.equal(opener.open(nonce, after, out), false);
        opener.rekey(other);
        assert.equal(opener.open(nonce, after, out), true);
        assert.equal(opener.open(nonce, before, out), false);
        opener.rekey(key);
        assert.equal(opener.open(nonce, before, out), true);
        assert.deepEqual(out, plain);
      });

      test(`${name} refuses wrong lengths without touching memory`, () => {
        using sealer = backend.sealer(name, key);
        using opener = backend.opener(name, key);
        for (const length of [0, keyLength - 1, keyLength + 1]) {
          assert.throws(() => backend.sealer(name, Buffer.alloc(length)), RangeError);
          assert.throws(() => backend.opener(name, Buffer.alloc(length)), RangeError);
          assert.throws(() => sealer.rekey(Buffer.alloc(length)), RangeError);
          assert.throws(() => opener.rekey(Buffer.alloc(length)), RangeError);
        }
        const out = Buffer.alloc(64);
        for (const length of [0, nonceLength - 1, nonceLength + 1]) {
          const short = Buffer.alloc(length);
          assert.throws(() => sealer.seal(short, Buffer.alloc(8), out), RangeError);
          assert.throws(() => opener.open(short, Buffer.alloc(32), out), RangeError);
        }
        assert.throws(() => sealer.seal(nonce, Buffer.alloc(8), Buffer.alloc(23)), RangeError);
        assert.throws(() => opener.open(nonce, Buffer.alloc(32), Buffer.alloc(15)), RangeError);
        for (let length = 0; length < TAG_LENGTH; length++) {
          assert.equal(opener.open(nonce, Buffer.alloc(length), out), false);
        }
      });

      test(`${name} throws once it is closed, and may be closed twice`, () => {
        const sealer = backend.sealer(name, key);
        const opener = backend.opener(name, key);
        const out = Buffer.alloc(32);
        sealer.seal(nonce, Buffer.alloc(16), out);
        assert.equal(opener.open(nonce, out, Buffer.alloc(16)), true);
        for (const cipher of [sealer, opener]) {
          cipher[Symbol.dispose]();
          cipher[Symbol.dispose]();
        }
        assert.throws(() => sealer.seal(nonce, Buffer.alloc(16), out), WeirError);
        assert.throws(() => opener.open(nonce, out, Buffer.alloc(16)), WeirError);
      });
    }
  });
}
