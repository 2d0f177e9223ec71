import assert from 'node:assert/strict';
import { describe, suite, test } from 'node:test';
import {
  asSole,
  copyOf,
  freeChunk,
  ownChunk,
  PendingRead,
  strip,
} from '../../../../src/net/links/read-queue.ts';

const LARGE = 64 << 10;

/** A chunk as sockets emit it: all of its memory. */
const read = (length: number): Uint8Array => new Uint8Array(length).map((_, i) => (i * 31) >> 3);
const isFreed = ({ buffer }: Uint8Array): boolean => buffer.byteLength === 0;

suite('a spent chunk', () => {
  test('is freed when it is all of its memory', () => {
    const chunk = read(LARGE);
    freeChunk(chunk);
    assert.ok(isFreed(chunk));
  });

  test('is freed when it is a small part of large memory that nothing else uses', () => {
    const memory = read(LARGE);
    freeChunk(asSole(memory.subarray(100, 101)));
    assert.ok(isFreed(memory));

    const rest = asSole(read(LARGE).subarray(0, 20));
    strip(rest, [rest.subarray(14)]);
    assert.ok(isFreed(rest));
  });

  test('is left alone when others may look at its memory', () => {
    const memory = read(LARGE);
    freeChunk(memory.subarray(1));
    freeChunk(memory.subarray(0, LARGE - 1));
    assert.deepEqual(memory, read(LARGE));
  });

  test('is no part of a pool when it is a copy', () => {
    for (const length of [1, 1000, LARGE]) {
      const copy = copyOf(read(LARGE).subarray(0, length));
      assert.deepEqual(new Uint8Array(copy), read(length));
      assert.equal(copy.buffer.byteLength, length);
    }
  });

  test('is left to the collector when it is small', () => {
    const chunk = read(1000);
    freeChunk(chunk);
    assert.deepEqual(chunk, read(1000));
  });

  test('has memory of its own when it is made for that', () => {
    for (const length of [8 << 10, 16 << 10, LARGE]) {
      const chunk = ownChunk(length);
      assert.equal(chunk.buffer.byteLength, length);
      freeChunk(chunk);
      assert.ok(isFreed(chunk), String(length));
    }
  });
});

suite('what a framing was taken off', () => {
  test('is freed with the memory that it does not fill', () => {
    const chunk = read(LARGE);
    const parts = strip(chunk, [chunk.subarray(14)]);
    assert.equal(parts.length, 1);
    const [part = chunk] = parts;
    assert.ok(Buffer.from(part).equals(read(LARGE).subarray(14)));
    freeChunk(part);
    assert.ok(isFreed(chunk));
  });

  test('becomes one piece, and the chunk is freed, when it lies between frames', () => {
    const chunk = read(LARGE);
    const cut = (bytes: Uint8Array): Uint8Array[] => [
      bytes.subarray(2, 30_000),
      bytes.subarray(30_004, 30_010),
      bytes.subarray(40_000),
    ];
    const parts = strip(chunk, cut(chunk));
    assert.deepEqual(Buffer.concat(parts), Buffer.concat(cut(read(LARGE))));
    const [whole = chunk, ...others] = parts;
    assert.equal(others.length, 0);
    freeChunk(whole);
    assert.ok(isFreed(chunk));
  });

  test('keeps no memory of more than four times its length', () => {
    for (const length of [1, 8 << 10, LARGE / 4 - 1]) {
      for (const cuts of [[0], [0, length >> 1]]) {
        const chunk = read(LARGE);
        const parts = cuts.map((from, i) => chunk.subarray(from + i, (cuts[i + 1] ?? length) + i));
        const bytes = Buffer.concat(parts);
        const stripped = strip(chunk, parts);
        assert.deepEqual(Buffer.concat(stripped), bytes);
        assert.equal(stripped[0]?.buffer.byteLength, length);
        assert.ok(isFreed(chunk));
      }
    }
    const chunk = read(LARGE);
    const quarter = strip(chunk, [chunk.subarray(0, LARGE / 4)]);
    assert.equal(quarter[0]?.buffer, chunk.buffer);
  });

  test('becomes one copy where the parts are elsewhere or in another order', () => {
    const chunk = read(LARGE);
    const elsewhere = read(100);
    const parts = strip(chunk, [chunk.subarray(20_000), elsewhere, chunk.subarray(0, 9)]);
    assert.ok(isFreed(chunk));
    const bytes = read(LARGE);
    assert.equal(parts.length, 1);
    assert.deepEqual(
      Buffer.concat(parts),
      Buffer.concat([bytes.subarray(20_000), read(100), bytes.subarray(0, 9)]),
    );
  });

  test('stays as it is where its memory is shared, is small, or there is nothing', () => {
    const shared = read(2 * LARGE).subarray(0, LARGE);
    const parts = [shared.subarray(2, 10_000), shared.subarray(20_000)];
    assert.equal(strip(shared, parts), parts);
    const one = [shared.subarray(2)];
    assert.equal(strip(shared, one), one);
    for (const part of [...parts, ...one]) freeChunk(part);
    assert.deepEqual(shared, read(2 * LARGE).subarray(0, LARGE));
    const small = read(1000);
    assert.deepEqual(strip(small, [small.subarray(2)]), [read(1000).subarray(2)]);
    assert.deepEqual(strip(read(LARGE), []), []);
  });

  test('is not freed for the sake of a part of it', () => {
    const chunk = read(LARGE);
    const [whole = chunk] = strip(chunk, [chunk.subarray(2)]);
    freeChunk(whole.subarray(0, 20_000));
    assert.ok(Buffer.from(whole).equals(read(LARGE).subarray(2)));
  });
});

describe('a pending read', () => {
  test('settles once, and may be followed by another', async () => {
    const pending = new PendingRead<number>();
    const first = pending.wait(undefined);
    assert.ok(pending.isPending);
    pending.resolve(1);
    pending.resolve(2);
    pending.reject(new Error('late'));
    assert.equal(await first, 1);
    assert.ok(!pending.isPending);
    const second = pending.wait(undefined);
    pending.resolve(undefined);
    assert.equal(await second, undefined);
  });

  test('is over when its signal aborts, so that nothing is taken for it', async () => {
    const pending = new PendingRead<number>();
    const abort = new AbortController();
    const read = pending.wait(abort.signal);
    abort.abort(new Error('enough'));
    assert.ok(!pending.isPending);
    await assert.rejects(read, /enough/);
  });

  test('leaves no listener at the signal of a read that was settled', async () => {
    const pending = new PendingRead<number>();
    const abort = new AbortController();
    for (const settle of [() => pending.resolve(1), () => pending.reject(new Error('no'))]) {
      const read = pending.wait(abort.signal);
      settle();
      await read.catch(() => undefined);
    }
    const next = pending.wait(undefined);
    abort.abort();
    assert.ok(pending.isPending, 'the signal is of earlier reads');
    pending.resolve(3);
    assert.equal(await next, 3);
  });
});
