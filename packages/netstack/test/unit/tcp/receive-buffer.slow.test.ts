import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { freeChunk } from '@weir/io/links';
import { ReceiveBuffer } from '../../../src/tcp/receive-buffer.ts';
import {
  FIRST_RECEIVE_WINDOW,
  MAX_RANGES,
  MAX_RECEIVE_WINDOW,
  MOST_BLOCK,
  OUT_OF_ORDER_BLOCK,
} from '../../../src/limits.ts';

const MSS = 1000;

const byteAt = (offset: number): number => (offset * 7 + (offset >>> 8)) & 255;
const bytesAt = (start: number, size: number): Uint8Array =>
  Uint8Array.from({ length: size }, (_, i) => byteAt(start + i));

function opened(): ReceiveBuffer {
  const buffer = new ReceiveBuffer(0);
  buffer.announce(MSS, 7);
  return buffer;
}

const EMPTY = new Uint8Array(100_000);
const put = (buffer: ReceiveBuffer, start: number, end: number): string =>
  buffer.insert(start, EMPTY, 0, end - start);

function blocksOf(buffer: ReceiveBuffer, limit = 4): [number, number][] {
  const blocks = new Float64Array(8);
  const count = buffer.report(blocks, limit);
  return Array.from({ length: count }, (_, i) => [blocks[i * 2] ?? -1, blocks[i * 2 + 1] ?? -1]);
}

const SPAN = 60_000;

test('random segments, reads and window updates give the stream, and a naive model has the same ranges', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          {
            weight: 6,
            arbitrary: fc.record({ start: fc.nat(SPAN), size: fc.integer({ min: 1, max: 9000 }) }),
          },
          { weight: 3, arbitrary: fc.record({ next: fc.integer({ min: 1, max: 9000 }) }) },
          { weight: 2, arbitrary: fc.constant('read' as const) },
        ),
        { maxLength: 80, size: 'max' },
      ),
      (steps) => {
        const buffer = opened();
        const has = new Uint8Array(SPAN + 10_000);
        let read = 0;
        let received = 0;
        for (const step of steps) {
          if (step === 'read') {
            const chunk = buffer.take(0);
            assert.equal(chunk === undefined, read === received);
            for (const byte of chunk ?? []) assert.equal(byte, byteAt(read++));
          } else {
            const start = 'next' in step ? received : step.start;
            if (start > SPAN) continue;
            const size = 'next' in step ? step.next : step.size;
            const packet = new Uint8Array(size + 5);
            packet.set(bytesAt(start, size), 5);
            const isNew = has.subarray(start, start + size).includes(0);
            const arrival = buffer.insert(start, packet, 5, size);
            assert.equal(arrival === 'duplicate', !isNew);
            has.fill(1, start, start + size);
            while (has[received] === 1) received++;
            const newest = Math.max(start, received);
            for (const [from, to] of blocksOf(buffer)) {
              assert.ok(has.subarray(from, to).every((bit) => bit === 1));
              if (to <= received || !isNew) continue;
              assert.equal(has[to], 0);
              assert.equal(has[from - 1], 0);
            }
            if (isNew && newest > received) assert.equal(buffer.hasGap, true);
          }
          assert.equal(buffer.received, received);
          assert.equal(buffer.readable, received - read);
        }
      },
    ),
    { numRuns: 300 },
  );
});

test('a range too many is dropped, and one that joins others is not', () => {
  const buffer = opened();
  for (let i = 1; i <= MAX_RANGES; i++)
    assert.equal(put(buffer, i * 10, i * 10 + 1), 'out-of-order');
  const beyond = (MAX_RANGES + 1) * 10;
  assert.equal(put(buffer, beyond, beyond + 1), 'dropped');
  assert.equal(put(buffer, 15, 16), 'dropped');
  assert.equal(put(buffer, 11, 20), 'out-of-order');
  assert.equal(put(buffer, beyond, beyond + 1), 'out-of-order');
  assert.equal(put(buffer, 0, beyond), 'filled');
  assert.equal(buffer.received, beyond + 1);
});

test('tiny segments behind gaps that are filled at once hold a small multiple of their bytes', () => {
  const buffer = opened();
  let at = 0;
  for (; at + 2 <= FIRST_RECEIVE_WINDOW; at += 2) {
    put(buffer, at + 1, at + 2);
    put(buffer, at, at + 1);
  }
  assert.ok(buffer.memory <= 4 * at + MOST_BLOCK + OUT_OF_ORDER_BLOCK, `${buffer.memory}`);
});

test('no order of segments makes a window that is not read hold more than four times itself', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ start: fc.nat(400_000), size: fc.integer({ min: 1, max: 20_000 }) }), {
        maxLength: 200,
        size: 'max',
      }),
      (segments) => {
        const buffer = opened();
        const bytes = new Uint8Array(20_000);
        for (const { start, size } of segments) {
          buffer.insert(start % 3 === 0 ? buffer.received : start, bytes, 0, size);
        }
        const bound = 4 * FIRST_RECEIVE_WINDOW + MOST_BLOCK + OUT_OF_ORDER_BLOCK;
        assert.ok(buffer.memory <= bound, `${buffer.memory}`);
      },
    ),
  );
});

test('small segments share a chunk, and an idle connection keeps no block', () => {
  const buffer = opened();
  const burst = (): number => {
    for (let i = 0; i < 40; i++) put(buffer, buffer.received, buffer.received + 100);
    let chunks = 0;
    while (buffer.take(0) !== undefined) chunks++;
    return chunks;
  };
  const [first, second] = [burst(), burst()];
  assert.ok(first <= 5, `${first} chunks`);
  assert.equal(second, 1, 'as much is expected again');
  for (let i = 0; i < 6; i++) put(buffer, buffer.received, buffer.received + 30_000);
  while (buffer.take(0) !== undefined) assert.ok(buffer.memory <= 4 * 180_000);
  assert.equal(buffer.memory, 0);
});

test('the memory of a burst that was read whole can be freed, though it does not fill it', () => {
  const buffer = opened();
  put(buffer, 0, 40_000);
  const first = buffer.take(0);
  put(buffer, 40_000, 80_000);
  const second = buffer.take(0);
  assert.ok(first && second && first.length < first.buffer.byteLength);
  freeChunk(first);
  assert.equal(first.length, 0);
  assert.equal(second.length, 40_000);
});

test('RFC 9293 §3.8.6: the right edge never moves back, whatever the scale rounds off', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 14 }),
      fc.array(fc.record({ size: fc.integer({ min: 1, max: 3000 }), reads: fc.boolean() }), {
        maxLength: 200,
        size: 'max',
      }),
      (scale, steps) => {
        const buffer = new ReceiveBuffer(0);
        let edge = 0;
        const announce = (): void => {
          const field = buffer.announce(MSS, scale);
          assert.ok(field >= 0 && field <= 65_535);
          const said = buffer.received + field * 2 ** scale;
          assert.ok(said >= edge, `${said} is below ${edge}`);
          assert.ok(said - buffer.received <= MAX_RECEIVE_WINDOW + 2 ** scale);
          edge = said;
        };
        announce();
        for (const { size, reads } of steps) {
          if (buffer.received < buffer.window.edge)
            put(buffer, buffer.received, buffer.received + size);
          if (reads) buffer.take(0);
          announce();
        }
      },
    ),
  );
});

test('a window in units that segments do not fill is closed all the same', () => {
  const buffer = new ReceiveBuffer(0);
  buffer.announce(MSS, 14);
  let received = 0;
  while (buffer.announce(MSS, 14) > 0 && received < 2 * FIRST_RECEIVE_WINDOW) {
    put(buffer, received, received + 100);
    received = buffer.received;
  }
  assert.ok(received <= FIRST_RECEIVE_WINDOW * 1.25, `${received}`);
});

test('the window doubles for a reader that takes half of it in a round trip, up to its bound', () => {
  const buffer = opened();
  buffer.window.onRoundTrip(50);
  let now = 0;
  for (let round = 0; round < 20; round++) {
    while (buffer.received < buffer.window.edge) {
      put(buffer, buffer.received, Math.min(buffer.received + 50_000, buffer.window.edge));
      while (buffer.take(now)) now += 0.1;
    }
    buffer.announce(MSS, 7);
  }
  assert.equal(buffer.window.size, MAX_RECEIVE_WINDOW);
});

test('the window stays as it is for a slow reader, a slow sender, and without memory to spare', () => {
  const still = opened();
  while (still.received < still.window.edge) put(still, still.received, still.received + 50_000);
  still.take(1);
  assert.equal(still.window.size, FIRST_RECEIVE_WINDOW);

  const slow = opened();
  slow.window.onRoundTrip(50);
  for (let now = 0; now < 5000; now += 50) {
    put(slow, slow.received, slow.received + 10_000);
    slow.take(now);
    slow.announce(MSS, 7);
  }
  assert.equal(slow.window.size, FIRST_RECEIVE_WINDOW);

  const poor = opened();
  for (let i = 0; i < 50; i++) {
    put(poor, poor.received, poor.received + 50_000);
    while (poor.take(0, false)) assert.equal(poor.window.size, FIRST_RECEIVE_WINDOW);
    poor.announce(MSS, 7);
  }
});
