import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { Received } from '../../../../src/http/http2/received.ts';
import { SendQueue } from '../../../../src/http/http2/send-queue.ts';

/** Octets that differ from their neighbours, from a running number on. */
const octets = (from: number, length: number): Buffer =>
  Buffer.from(Array.from({ length }, (_, at) => (from + at) % 251));

const size = fc.oneof(fc.nat(20), fc.nat(600));
const step = fc.oneof(
  size.map((length) => ({ kind: 'push' as const, length })),
  size.map((length) => ({ kind: 'take' as const, length })),
  fc.constant({ kind: 'settle' as const }),
  { weight: 1, arbitrary: fc.constant({ kind: 'clear' as const }) },
);
const steps = fc.array(step, { maxLength: 60, size: 'max' });

describe('received data that was not taken', () => {
  test('is the same bytes in their order, though the chunk that brought them is used again', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const received = new Received();
        let expected = Buffer.alloc(0);
        let chunks: Buffer[] = [];
        let number = 0;
        for (const each of all) {
          switch (each.kind) {
            case 'push': {
              if (each.length === 0) break; // no piece is empty
              const chunk = octets(number, each.length);
              number += each.length;
              chunks.push(chunk);
              received.push(chunk);
              expected = Buffer.concat([expected, octets(number - each.length, each.length)]);
              break;
            }
            case 'settle':
              received.settle();
              for (const chunk of chunks) chunk.fill(255);
              chunks = [];
              break;
            case 'take': {
              const taken = Buffer.concat([...received.take(each.length)]);
              assert.deepEqual(taken, expected.subarray(0, each.length));
              expected = expected.subarray(taken.length);
              break;
            }
            case 'clear':
              received.clear();
              expected = Buffer.alloc(0);
              break;
            default:
              each satisfies never;
          }
          assert.equal(received.length, expected.length);
        }
        assert.deepEqual(Buffer.concat([...received.take(Infinity)]), expected);
        assert.equal(received.length, 0);
      }),
      { numRuns: 300 },
    );
  });

  test('is views until it is settled, and shares buffers that double up to 16 KiB afterwards', () => {
    const received = new Received();
    const first = octets(0, 10);
    received.push(first);
    assert.equal(received.take(10)[0], first);
    const count = 60_000;
    for (let at = 0; at < count; at++) {
      received.push(octets(at, 1));
      received.settle();
    }
    // Exactly as much as is left in the buffer of the last piece.
    const sizes = received.take(count).map(({ buffer }) => buffer.byteLength);
    assert.deepEqual(sizes, [256, 512, 1024, 2048, 4096, 8192, 16_384, 16_384, 16_384]);
  });

  test('of a large piece has a buffer of its length', () => {
    const received = new Received();
    received.push(octets(0, 20_000));
    received.push(octets(1, 1));
    received.settle();
    received.settle();
    const sizes = received.take(Infinity).map(({ buffer }) => buffer.byteLength);
    assert.deepEqual(sizes, [20_000, 16_384]);
  });
});

describe('data that waits to be sent', () => {
  test('is moved in its order, in parts of any length', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const queue = new SendQueue();
        let expected = Buffer.alloc(0);
        for (const each of all) {
          switch (each.kind) {
            case 'push':
              queue.push(octets(expected.length, each.length), false);
              expected = Buffer.concat([expected, octets(expected.length, each.length)]);
              break;
            case 'take': {
              const length = Math.min(each.length, queue.length);
              const out = Buffer.alloc(length + 4);
              queue.copyTo(out, 2, length);
              assert.deepEqual(out.subarray(2, 2 + length), expected.subarray(0, length));
              // Nothing is written beside it.
              assert.equal(out.readUInt16BE(0) + out.readUInt16BE(2 + length), 0);
              expected = expected.subarray(length);
              break;
            }
            case 'clear':
              queue.clear();
              expected = Buffer.alloc(0);
              break;
            case 'settle': // of received data alone
              break;
            default:
              each satisfies never;
          }
          assert.equal(queue.length, expected.length);
        }
      }),
      { numRuns: 300 },
    );
  });

  const LARGE = 16_384; // smaller chunks are left to the garbage collector

  test('is freed once all of a chunk was moved, if it is owned', () => {
    for (const isOwned of [true, false]) {
      const queue = new SendQueue();
      const chunk = new Uint8Array(LARGE);
      queue.push(chunk, isOwned);
      queue.copyTo(new Uint8Array(LARGE), 0, LARGE - 1);
      assert.equal(chunk.length, LARGE);
      queue.copyTo(new Uint8Array(LARGE), 0, 1);
      assert.equal(chunk.length, isOwned ? 0 : LARGE);
    }
  });

  test('is freed when it is dropped, if it is owned', () => {
    const queue = new SendQueue();
    const [owned, lent] = [new Uint8Array(LARGE), new Uint8Array(LARGE)];
    queue.push(owned, true);
    queue.push(lent, false);
    queue.clear();
    assert.deepEqual([owned.length, lent.length, queue.length], [0, LARGE, 0]);
  });

  test('may be followed by the end of the stream, with trailers or without', () => {
    const queue = new SendQueue();
    assert.deepEqual([queue.isEnded, queue.trailers], [false, undefined]);
    const trailers = [{ name: 'a', value: 'b' }];
    queue.end(trailers);
    assert.deepEqual([queue.isEnded, queue.trailers], [true, trailers]);
  });
});
