import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  messageType,
  MessageType,
  readCounter,
  readIndex,
  timestampAfter,
  writeCounter,
  writeIndex,
} from '../../../../src/protocols/wireguard/wire.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

describe('the type of a datagram', () => {
  const typeOf = (first: number, length: number, reserved = 0): MessageType | undefined => {
    const bytes = new Uint8Array(length + 4);
    bytes[2] = first;
    bytes[4] = reserved;
    return messageType(bytes, 2, 2 + length);
  };

  test('needs the length of its message', () => {
    const sizes = [
      [MessageType.INITIATION, 148],
      [MessageType.RESPONSE, 92],
      [MessageType.COOKIE_REPLY, 64],
    ] as const;
    for (const [type, size] of sizes) {
      assert.equal(typeOf(type, size), type);
      for (const wrong of [size - 1, size + 1]) assert.equal(typeOf(type, wrong), undefined);
    }
    for (const size of [32, 33, 48, 1500]) assert.equal(typeOf(4, size), MessageType.DATA);
    assert.equal(typeOf(4, 31), undefined);
  });

  test('is one of four, with zeros behind it', () => {
    for (const type of [0, 5, 255]) assert.equal(typeOf(type, 148), undefined);
    assert.equal(typeOf(1, 148, 1), undefined);
  });
});

test('indices and counters survive a round trip', () => {
  fc.assert(
    fc.property(fc.nat(0xffff_ffff), fc.maxSafeNat(), (index, counter) => {
      const bytes = new Uint8Array(16);
      writeIndex(bytes, 1, index);
      writeCounter(bytes, 5, counter);
      assert.equal(readIndex(bytes, 1), index);
      assert.equal(readCounter(bytes, 5), counter);
    }),
  );
});

test('a counter beyond 2^53 is no safe integer', () => {
  for (const text of ['0100000000002000', 'ffffffffffffffff', '0000000000000080']) {
    const bytes = Buffer.from(text, 'hex');
    assert.equal(Number.isSafeInteger(readCounter(bytes, 0)), false, text);
  }
});

describe('timestamps', () => {
  test('are TAI64N with a grain of 2^24 nanoseconds', () => {
    // The epoch of TAI64 is 10 s ahead of that of Unix (https://cr.yp.to/libtai/tai64.html).
    assert.equal(hex(timestampAfter(undefined, 0)), '400000000000000a00000000');
    assert.equal(hex(timestampAfter(undefined, 1_500)), '400000000000000b1d000000');
  });

  test('grow, also when the clock stands or is set back', () => {
    let last: Uint8Array | undefined;
    for (const wall of [1e12, 1e12, 1e12 + 1, 5, 1e12 + 20, 1e12 + 20]) {
      const next = timestampAfter(last, wall);
      if (last) assert.ok(Buffer.compare(next, last) > 0);
      last = next;
    }
    for (const [full, next] of [
      ['400000000000000bffffffff', '400000000000000c00000000'],
      ['40ffffffffffffffffffffff', '410000000000000000000000'],
    ] as const) {
      assert.equal(hex(timestampAfter(Buffer.from(full, 'hex'), 0)), next);
    }
  });

  test('are those of the clock when it is ahead of the last one', () => {
    const last = timestampAfter(undefined, 1_000);
    assert.equal(hex(timestampAfter(last, 1_500)), '400000000000000b1d000000');
    assert.equal(hex(last), '400000000000000b00000000');
  });
});
