import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  baselinePacketCiphers,
  choosePacketCiphers,
  openOpensslPacketCiphers,
} from '../../../src/aead/packet-ciphers.ts';
import { checkedPacketCiphers } from '../../../src/aead/checked.ts';
import type { PacketCipherBackend, PacketSealing } from '../../../src/aead/contract.ts';
import { packetCiphersAgree } from '../../../src/aead/self-test.ts';

test('the environment chooses: the fast way by default, the baseline on request', () => {
  assert.equal(choosePacketCiphers('').name, 'openssl');
  assert.equal(choosePacketCiphers('checked').name, 'openssl');
  assert.equal(choosePacketCiphers('baseline').name, 'baseline');
});

test('the self-test passes the implementations that there are', () => {
  assert.equal(packetCiphersAgree(openOpensslPacketCiphers(), baselinePacketCiphers), true);
  assert.equal(packetCiphersAgree(choosePacketCiphers('checked'), baselinePacketCiphers), true);
});

/** The baseline with a fault in what it seals. */
const sealsWrongly = (fault: (bytes: Uint8Array, middle: number, end: number) => void) =>
  ({
    ...baselinePacketCiphers,
    sealing(name, key): PacketSealing {
      const sealing = baselinePacketCiphers.sealing(name, key);
      return {
        name,
        nonce: sealing.nonce,
        seal(bytes, start, middle, end) {
          sealing.seal(bytes, start, middle, end);
          fault(bytes, middle, end);
        },
        [Symbol.dispose]: () => sealing[Symbol.dispose](),
      };
    },
  }) satisfies PacketCipherBackend;

test('the self-test stops an implementation that seals wrongly, one that writes too far, one that throws', () => {
  const faults: ((bytes: Uint8Array, middle: number, end: number) => void)[] = [
    (bytes, middle, end) => void (end - middle === 65 && (bytes[middle + 64]! ^= 1)),
    (bytes, _, end) => void (bytes[end + 16] = 0xee),
    () => {
      throw new Error('no');
    },
  ];
  for (const fault of faults) {
    assert.equal(packetCiphersAgree(sealsWrongly(fault), baselinePacketCiphers), false);
  }
});

test('the self-test stops an implementation that opens what is forged', () => {
  const trusting: PacketCipherBackend = {
    ...baselinePacketCiphers,
    opening(name, key) {
      const opening = baselinePacketCiphers.opening(name, key);
      return {
        name,
        nonce: opening.nonce,
        open: (...packet) => opening.open(...packet) || true,
        [Symbol.dispose]: () => opening[Symbol.dispose](),
      };
    },
  };
  assert.equal(packetCiphersAgree(trusting, baselinePacketCiphers), false);
});

test('the self-test stops an implementation whose last mask of a batch is wrong', () => {
  const wrong: PacketCipherBackend = {
    ...baselinePacketCiphers,
    headerMasks(name, key) {
      const masks = baselinePacketCiphers.headerMasks(name, key);
      return {
        samples: masks.samples,
        masks: masks.masks,
        compute(count) {
          masks.compute(count);
          if (count === 64) masks.masks[63 * 16]! ^= 1;
        },
        [Symbol.dispose]: () => masks[Symbol.dispose](),
      };
    },
  };
  assert.equal(packetCiphersAgree(wrong, baselinePacketCiphers), false);
});

test('checked ciphers throw where an implementation differs from the baseline', () => {
  const wrong = sealsWrongly((bytes, middle) => void (bytes[middle]! ^= 1));
  const checked = checkedPacketCiphers(wrong, baselinePacketCiphers);
  using sealing = checked.sealing('aes-128-gcm', Buffer.alloc(16));
  assert.throws(() => sealing.seal(Buffer.alloc(40), 0, 4, 20), /not sealed as the baseline/);
});
