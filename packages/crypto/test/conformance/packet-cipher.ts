import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  AEAD_SHAPES,
  MASK_BATCH,
  MASK_LENGTH,
  type PacketCipherBackend,
  type PacketCipherName,
  TAG_LENGTH,
} from '../../src/aead/contract.ts';
import { baselineAead } from '../../src/aead/baseline-aead.ts';
import { WeirError } from '@weir/base';
import { AEAD_VECTORS } from '../../../../test/support/data/aead-vectors.ts';

const NAMES: readonly PacketCipherName[] = ['aes-128-gcm', 'aes-256-gcm', 'chacha20-poly1305'];
const hex = (text: string): Buffer => Buffer.from(text, 'hex');

/** Bytes around a packet, which must stay as they are. */
const BEFORE = 7;
const BEHIND = 9;

/** RFC 9001 §A.2 and §A.5: a sample and its mask. AES-256 is checked by a block of FIPS 197 §C.3. */
const MASK_VECTORS: readonly {
  name: PacketCipherName;
  key: string;
  sample: string;
  mask: string;
}[] = [
  {
    name: 'aes-128-gcm',
    key: '9f50449e04a0e810283a1e9933adedd2',
    sample: 'd1b1c98dd7689fb8ec11d242b123dc9b',
    mask: '437b9aec36',
  },
  {
    name: 'aes-256-gcm',
    key: '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f',
    sample: '00112233445566778899aabbccddeeff',
    mask: '8ea2b7ca51',
  },
  {
    name: 'chacha20-poly1305',
    key: '25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4',
    sample: '5e5cd55c41f69080575d7999c25a5bfb',
    mask: 'aefefe7d03',
  },
];

/** Runs the promise of PacketCipherBackend (packages/crypto/src/aead/contract.ts). */
export function packetCipherConformance(title: string, backend: PacketCipherBackend): void {
  describe(`${title} keeps the contract of a packet cipher`, () => {
    for (const vector of AEAD_VECTORS) {
      const { aead: name, associated, plain, sealed } = vector;
      if (name === 'xchacha20-poly1305') continue;

      test(`${vector.name} (${vector.source}) is sealed and opened in the middle of a buffer`, () => {
        const head = hex(associated);
        const middle = BEFORE + head.length;
        const end = middle + plain.length / 2;
        const around = [Buffer.alloc(BEFORE, 0xaa), Buffer.alloc(BEHIND, 0xbb)] as const;
        const open = Buffer.concat([around[0], head, hex(plain), Buffer.alloc(16), around[1]]);
        const closed = Buffer.concat([around[0], head, hex(sealed), around[1]]);

        using sealing = backend.sealing(name, hex(vector.key));
        sealing.nonce.set(hex(vector.nonce));
        const bytes = Buffer.from(open);
        sealing.seal(bytes, BEFORE, middle, end);
        assert.equal(bytes.toString('hex'), closed.toString('hex'));

        using opening = backend.opening(name, hex(vector.key));
        opening.nonce.set(hex(vector.nonce));
        assert.equal(opening.open(bytes, BEFORE, middle, end + TAG_LENGTH), true);
        assert.equal(bytes.toString('hex', 0, end), open.toString('hex', 0, end));
        assert.equal(bytes.toString('hex', end), closed.toString('hex', end));
      });

      test(`${vector.name} is rejected with any bit changed, and opens again after that`, () => {
        using opening = backend.opening(name, hex(vector.key));
        opening.nonce.set(hex(vector.nonce));
        const packet = Buffer.concat([hex(associated), hex(sealed)]);
        const middle = associated.length / 2;
        for (let bit = 0; bit < packet.length * 8; bit += 5) {
          const changed = Buffer.from(packet);
          changed[bit >> 3]! ^= 1 << (bit & 7);
          assert.equal(opening.open(changed, 0, middle, packet.length), false, `bit ${bit}`);
          if (plain !== '' && !/^0+$/.test(plain)) {
            assert.ok(!changed.includes(hex(plain)), 'the plaintext is left behind');
          }
        }
        opening.nonce[11]! ^= 1;
        assert.equal(opening.open(Buffer.from(packet), 0, middle, packet.length), false);
        opening.nonce[11]! ^= 1;
        assert.equal(opening.open(packet, 0, middle, packet.length), true);
        assert.equal(packet.toString('hex', middle, packet.length - TAG_LENGTH), plain);
      });
    }

    for (const name of NAMES) {
      const { keyLength } = AEAD_SHAPES[name];
      const key = Buffer.alloc(keyLength, 1);

      test(`${name} seals as the AEAD of streams does, wherever the packet is`, () => {
        using sealing = backend.sealing(name, key);
        using reference = baselineAead.sealer(name, key);
        const bytesOf = fc.uint8Array({ maxLength: 300, size: 'max' });
        fc.assert(
          fc.property(
            fc.uint8Array({ minLength: 12, maxLength: 12 }),
            bytesOf,
            bytesOf,
            bytesOf,
            (nonce, before, head, plain) => {
              const tag = new Uint8Array(TAG_LENGTH);
              const bytes = Buffer.concat([before, head, plain, tag]);
              const middle = before.length + head.length;
              sealing.nonce.set(nonce);
              sealing.seal(bytes, before.length, middle, middle + plain.length);
              const expected = new Uint8Array(plain.length + TAG_LENGTH);
              reference.seal(nonce, plain, expected, head);
              assert.deepEqual(bytes.subarray(middle), Buffer.from(expected));
              assert.deepEqual(bytes.subarray(0, middle), Buffer.concat([before, head]));
            },
          ),
          { numRuns: 50 },
        );
      });

      test(`${name} works on parts of a buffer, and on buffers small and large in turn`, () => {
        using sealing = backend.sealing(name, key);
        using opening = backend.opening(name, key);
        const plain = Buffer.from('turn by turn');
        for (const size of [40, 64, 65_536, 50, 100_000]) {
          for (const shift of [0, 3]) {
            const bytes = new Uint8Array(size + shift).subarray(shift);
            bytes.set(plain, 4);
            sealing.seal(bytes, 0, 4, 4 + plain.length);
            assert.notDeepEqual(Buffer.from(bytes.subarray(4, 4 + plain.length)), plain);
            assert.equal(opening.open(bytes, 0, 4, 4 + plain.length + TAG_LENGTH), true);
            assert.deepEqual(Buffer.from(bytes.subarray(4, 4 + plain.length)), plain);
          }
        }
      });

      test(`${name} rejects packets without room for a tag, and ranges outside of the buffer`, () => {
        using sealing = backend.sealing(name, key);
        using opening = backend.opening(name, key);
        const bytes = Buffer.alloc(64);
        for (let length = 0; length < TAG_LENGTH; length++) {
          assert.equal(opening.open(bytes, 0, 10, 10 + length), false);
        }
        const outside = [
          [-1, 0, 20],
          [5, 4, 20],
          [0, 21, 20],
          [0, 4, 65],
          [Number.NaN, 4, 20],
          [0, Number.NaN, 20],
          [0, 4, Number.NaN],
        ] as const;
        for (const [start, middle, end] of outside) {
          assert.throws(() => sealing.seal(bytes, start, middle, end), RangeError);
          assert.throws(() => opening.open(bytes, start, middle, end), RangeError);
        }
        assert.throws(() => sealing.seal(bytes, 0, 4, 64 - TAG_LENGTH + 1), RangeError);
        assert.deepEqual(bytes, Buffer.alloc(64));
        sealing.seal(bytes, 0, 4, 64 - TAG_LENGTH);
        assert.equal(opening.open(bytes, 0, 4, 64), true);
      });

      test(`${name} rejects a buffer whose memory was transferred`, () => {
        using sealing = backend.sealing(name, key);
        using opening = backend.opening(name, key);
        const bytes = new Uint8Array(new ArrayBuffer(64));
        sealing.seal(bytes, 0, 4, 20);
        bytes.buffer.transfer();
        assert.throws(() => sealing.seal(bytes, 0, 4, 20), RangeError);
        assert.throws(() => opening.open(bytes, 0, 4, 36), RangeError);
      });

      test(`${name} makes one mask and many alike`, () => {
        using masks = backend.headerMasks(name, key);
        const samples = Uint8Array.from(
          { length: MASK_BATCH * MASK_LENGTH },
          (_, i) => (i * 37 + (i >> 8)) & 0xff,
        );
        masks.samples.set(samples);
        masks.compute(MASK_BATCH);
        const all = Buffer.from(masks.masks);
        for (let i = 0; i < MASK_BATCH; i++) {
          const at = i * MASK_LENGTH;
          masks.samples.set(samples.subarray(at, at + MASK_LENGTH));
          masks.compute(1);
          assert.deepEqual(
            Buffer.from(masks.masks.subarray(0, 5)),
            all.subarray(at, at + 5),
            `mask ${i}`,
          );
        }
        masks.compute(0);
        for (const count of [-1, MASK_BATCH + 1, Number.NaN]) {
          assert.throws(() => masks.compute(count), RangeError);
        }
      });

      test(`${name} takes no key of another length`, () => {
        for (const length of [0, keyLength - 1, keyLength + 1]) {
          const wrong = Buffer.alloc(length);
          assert.throws(() => backend.sealing(name, wrong), RangeError);
          assert.throws(() => backend.opening(name, wrong), RangeError);
          assert.throws(() => backend.headerMasks(name, wrong), RangeError);
        }
      });

      test(`${name} keeps no reference to the key that it was given`, () => {
        const given = Buffer.alloc(keyLength, 1);
        using sealing = backend.sealing(name, given);
        using masks = backend.headerMasks(name, given);
        using expectedMasks = backend.headerMasks(name, key);
        given.fill(0);
        using opening = backend.opening(name, key);
        const bytes = Buffer.alloc(40);
        sealing.seal(bytes, 0, 4, 20);
        assert.equal(opening.open(bytes, 0, 4, 36), true);
        expectedMasks.samples.fill(9);
        expectedMasks.compute(1);
        const expected = Buffer.from(expectedMasks.masks.subarray(0, 5));
        masks.samples.fill(9);
        masks.compute(1);
        assert.deepEqual(Buffer.from(masks.masks.subarray(0, 5)), expected);
      });

      test(`${name} throws once it is closed, and may be closed twice`, () => {
        const sealing = backend.sealing(name, key);
        const opening = backend.opening(name, key);
        const masks = backend.headerMasks(name, key);
        masks.compute(1);
        for (const cipher of [sealing, opening, masks]) {
          cipher[Symbol.dispose]();
          cipher[Symbol.dispose]();
        }
        const bytes = Buffer.alloc(64);
        assert.throws(() => sealing.seal(bytes, 0, 4, 20), WeirError);
        assert.throws(() => opening.open(bytes, 0, 4, 36), WeirError);
        assert.throws(() => masks.compute(1), WeirError);
      });
    }

    for (const { name, key, sample, mask } of MASK_VECTORS) {
      test(`the mask of ${name} is that of the published vector`, () => {
        using masks = backend.headerMasks(name, hex(key));
        masks.samples.set(hex(sample));
        masks.compute(1);
        assert.equal(Buffer.from(masks.masks.subarray(0, 5)).toString('hex'), mask);
      });
    }
  });
}
