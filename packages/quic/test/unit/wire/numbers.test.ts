import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  decodePacketNumber,
  packetNumberSize,
  writePacketNumber,
} from '../../../src/wire/packet-header.ts';
import {
  readVarint,
  TOO_LARGE,
  TRUNCATED,
  varintSize,
  varintSizeAt,
  writeVarint,
  writeVarint2,
} from '../../../src/wire/varint.ts';

const hex = (text: string): Buffer => Buffer.from(text, 'hex');

test('the integers of RFC 9000 §A.1 are read', () => {
  const samples = [
    ['9d7f3e7d', 494_878_333],
    ['7bbd', 15_293],
    ['25', 37],
    ['4025', 37],
  ] as const;
  for (const [text, value] of samples) {
    const bytes = hex(text);
    assert.equal(readVarint(bytes, 0, bytes.length), value);
    assert.equal(varintSizeAt(bytes, 0), bytes.length);
  }
  // The sample of 8 bytes, 151,288,809,941,952,652, is above 2^53.
  assert.equal(readVarint(hex('c2197c5eff14e88c'), 0, 8), TOO_LARGE);
  assert.equal(readVarint(hex('c01fffffffffffff'), 0, 8), Number.MAX_SAFE_INTEGER);
  assert.equal(readVarint(hex('c020000000000000'), 0, 8), TOO_LARGE);
  assert.equal(readVarint(hex('ffffffffffffffff'), 0, 8), TOO_LARGE);
});

test('every integer survives, in the shortest encoding', () => {
  const edges = [63, 64, 16_383, 16_384, 2 ** 30 - 1, 2 ** 30, 2 ** 32, Number.MAX_SAFE_INTEGER];
  const value = fc.oneof(fc.maxSafeNat(), fc.nat(70_000), fc.constantFrom(...edges));
  fc.assert(
    fc.property(value, fc.nat(9), (number, offset) => {
      const bytes = new Uint8Array(offset + 9).fill(0xee);
      const end = writeVarint(bytes, offset, number);
      assert.equal(end - offset, varintSize(number));
      assert.equal(readVarint(bytes, offset, end), number);
      assert.equal(varintSizeAt(bytes, offset), end - offset);
      for (let early = offset; early < end; early++) {
        assert.equal(readVarint(bytes, offset, early), TRUNCATED);
      }
      assert.ok(bytes.subarray(end).every((byte) => byte === 0xee));
    }),
  );
});

test('a length that is filled in later has two bytes', () => {
  const bytes = new Uint8Array(2);
  for (const length of [0, 63, 64, 16_383]) {
    assert.equal(writeVarint2(bytes, 0, length), 2);
    assert.equal(readVarint(bytes, 0, 2), length);
  }
});

test('packet numbers have as many bytes as in RFC 9000 §A.2', () => {
  assert.equal(packetNumberSize(0xac5c02, 0xabe8b3), 2);
  assert.equal(packetNumberSize(0xace8fe, 0xabe8b3), 3);
  assert.equal(packetNumberSize(0, -1), 1);
  assert.equal(packetNumberSize(2 ** 40, -1), 4);
});

test('a packet number is decoded as in RFC 9000 §A.3', () => {
  assert.equal(decodePacketNumber(0xa82f30ea, 0x9b32, 2), 0xa82f9b32);
});

test('a packet number is decoded from as many bytes as it needs, and from more', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.nat(2 ** 24), (acknowledged, ahead) => {
      const number = acknowledged + 1 + ahead;
      fc.pre(number < 2 ** 53 - 2 ** 33);
      for (let size = packetNumberSize(number, acknowledged); size <= 4; size++) {
        const bytes = new Uint8Array(size);
        assert.equal(writePacketNumber(bytes, 0, number, size), size);
        const truncated = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
        // The receiver has got anything from what it has acknowledged up to the packet before.
        for (const largest of [acknowledged, number - 1]) {
          assert.equal(decodePacketNumber(largest, truncated, size), number);
        }
      }
    }),
  );
});

test('every number in the window around the one that is expected is decoded', () => {
  for (const size of [1, 2, 3, 4]) {
    const half = 2 ** (8 * size - 1);
    for (const largest of [-1, 0, half - 2, half - 1, half, 2 * half - 1, 2 * half, 5 * half + 7]) {
      const expected = largest + 1;
      for (const distance of [1 - half, 2 - half, -2, -1, 0, 1, half - 1, half]) {
        const number = expected + distance;
        if (number < 0) continue;
        assert.equal(decodePacketNumber(largest, number % (2 * half), size), number);
      }
    }
  }
});

test('a decoded packet number is never negative nor above 2^53', () => {
  const size = fc.integer({ min: 1, max: 4 });
  const largest = fc.oneof(fc.maxSafeNat(), fc.constantFrom(-1, 0, Number.MAX_SAFE_INTEGER - 1));
  fc.assert(
    fc.property(size, fc.nat(2 ** 32 - 1), largest, (bytes, wire, before) => {
      const number = decodePacketNumber(before, wire % 2 ** (8 * bytes), bytes);
      assert.ok(number >= 0 && number <= Number.MAX_SAFE_INTEGER, String(number));
    }),
    { numRuns: 2_000 },
  );
});
