import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { describe, test } from 'node:test';
import { ByteQueue, copyBytes, copyOf, RangeSet } from '../../src/bytes.ts';

test('a copy of a part of a buffer keeps its bytes when the buffer is used again', () => {
  const buffer = Buffer.from('a datagram');
  const copy = copyOf(buffer, 2, 6);
  buffer.fill(0);
  assert.equal(Buffer.from(copy).toString(), 'data');
  assert.equal(copy.buffer.byteLength, 4, 'it does not keep the memory around it');
  assert.equal(copyOf(buffer, 3, 3).length, 0);
});

test('a part is copied to its place, and nothing around it changes', () => {
  const to = new Uint8Array(6).fill(9);
  copyBytes(Uint8Array.of(1, 2, 3, 4), 1, 2, to, 3);
  assert.deepEqual([...to], [9, 9, 9, 2, 3, 9]);
});

describe('a queue of bytes', () => {
  test('returns what was pushed, in pieces of any lengths', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('push' as const), bytes: fc.uint8Array({ maxLength: 9 }) }),
      fc.record({
        kind: fc.constantFrom('peek' as const, 'take' as const, 'takeSome' as const),
        length: fc.nat(12),
      }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
        const queue = new ByteQueue();
        let model = Buffer.alloc(0);
        for (const each of steps) {
          if (each.kind === 'push') {
            queue.push(each.bytes);
            model = Buffer.concat([model, each.bytes]);
            assert.equal(queue.length, model.length);
            continue;
          }
          const given = queue[each.kind](each.length);
          if (each.kind === 'takeSome') {
            assert.equal(given === undefined, model.length === 0);
            assert.ok((given?.length ?? 0) <= each.length);
            assert.ok(each.length === 0 || model.length === 0 || (given?.length ?? 0) > 0);
          } else {
            assert.equal(given?.length, each.length <= model.length ? each.length : undefined);
          }
          assert.deepEqual(Buffer.from(given ?? []), model.subarray(0, given?.length ?? 0));
          if (each.kind !== 'peek') model = model.subarray(given?.length ?? 0);
          assert.equal(queue.length, model.length);
        }
      }),
    );
  });

  test('copies nothing that lies in one piece', () => {
    const queue = new ByteQueue();
    const chunk = Uint8Array.of(1, 2, 3, 4);
    queue.push(chunk);
    assert.equal(queue.take(2)?.buffer, chunk.buffer);
    assert.equal(queue.takeSome(9)?.buffer, chunk.buffer);
  });

  test('joins short pieces that wait, so that a frame sent byte by byte costs its bytes', () => {
    const queue = new ByteQueue();
    const sent = Buffer.from(Array.from({ length: 60_000 }, (_, index) => index & 0xff));
    for (const byte of sent) queue.push(Uint8Array.of(byte));
    const pieces: Uint8Array[] = [];
    for (let piece = queue.takeSome(9e9); piece; piece = queue.takeSome(9e9)) pieces.push(piece);
    assert.ok(pieces.length < 20, `${pieces.length} pieces are kept`);
    assert.deepEqual(Buffer.concat(pieces), sent);
  });

  test('leaves what was taken alone when more comes', () => {
    const queue = new ByteQueue();
    queue.push(Uint8Array.of(1));
    queue.push(Uint8Array.of(2, 3));
    const taken = [queue.take(2), queue.take(1)].map((piece) => [...(piece ?? [])]);
    queue.push(Uint8Array.of(4));
    queue.push(Uint8Array.of(5));
    assert.deepEqual(taken, [[1, 2], [3]]);
    assert.deepEqual([...(queue.take(2) ?? [])], [4, 5]);
  });
});

const rangesOf = (set: RangeSet): number[][] =>
  Array.from({ length: set.size }, (_, i) => [set.start(i), set.end(i)]);

test('ranges that touch or overlap become one', () => {
  const set = new RangeSet();
  set.add(10, 20);
  set.add(30, 40);
  set.add(50, 60);
  assert.deepEqual(rangesOf(set), [
    [10, 20],
    [30, 40],
    [50, 60],
  ]);
  set.add(20, 30);
  assert.deepEqual(rangesOf(set), [
    [10, 40],
    [50, 60],
  ]);
  set.add(0, 100);
  assert.deepEqual(rangesOf(set), [[0, 100]]);
});

test('removing splits, shortens and deletes ranges', () => {
  const set = new RangeSet();
  set.add(0, 100);
  set.remove(40, 60);
  set.remove(0, 10);
  set.remove(90, 200);
  assert.deepEqual(rangesOf(set), [
    [10, 40],
    [60, 90],
  ]);
  assert.ok(set.has(10, 40) && !set.has(10, 41) && !set.has(30, 70));
  set.remove(0, 100);
  assert.equal(set.size, 0);
});

test('empty ranges change nothing', () => {
  const set = new RangeSet();
  set.add(5, 5);
  set.add(0, 10);
  set.remove(5, 5);
  assert.deepEqual(rangesOf(set), [[0, 10]]);
});

test('any order of adding and removing gives what a table of booleans gives', () => {
  const SIZE = 40;
  let state = 3;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % limit;
  };
  const set = new RangeSet();
  const model = Array.from({ length: SIZE }, () => false);
  for (let round = 0; round < 2000; round++) {
    const start = below(SIZE);
    const end = start + below(SIZE - start + 1);
    const isAdded = below(2) === 0;
    if (isAdded) set.add(start, end);
    else set.remove(start, end);
    model.fill(isAdded, start, end);
    const expected: number[][] = [];
    for (let i = 0; i < SIZE; i++) {
      if (!model[i]) continue;
      const first = i;
      while (model[i]) i++;
      expected.push([first, i]);
    }
    assert.deepEqual(rangesOf(set), expected);
  }
});

test('a range that fills a gap joins both sides, and removing splits them again', () => {
  const set = new RangeSet();
  set.add(0, 10);
  set.add(20, 30);
  set.add(10, 20);
  assert.deepEqual(rangesOf(set), [[0, 30]]);
  set.remove(5, 25);
  assert.deepEqual(rangesOf(set), [
    [0, 5],
    [25, 30],
  ]);
});

test('changes at either end of thousands of ranges move few of them', (t) => {
  const COUNT = 10_000;
  let moved = 0;
  const copyWithin: (this: Float64Array, ...where: number[]) => Float64Array =
    // oxlint-disable-next-line typescript/unbound-method -- called with `call`
    Float64Array.prototype.copyWithin;
  t.mock.method(
    Float64Array.prototype,
    'copyWithin',
    function (this: Float64Array, to: number, start: number, end: number) {
      moved += end - start;
      return Reflect.apply(copyWithin, this, [to, start, end]);
    },
  );
  const set = new RangeSet();
  for (let i = COUNT; i > 0; i--) set.add(i * 10, i * 10 + 5);
  for (let i = COUNT + 1; i <= 2 * COUNT; i++) set.add(i * 10, i * 10 + 5);
  assert.equal(set.size, 2 * COUNT);
  // From the first one on, as lost data is repeated.
  for (let i = 1; i < COUNT; i++) set.remove(i * 10, i * 10 + 5);
  for (let i = 2 * COUNT; i > COUNT; i--) set.remove(i * 10, i * 10 + 5);
  assert.deepEqual(rangesOf(set), [[COUNT * 10, COUNT * 10 + 5]]);
  set.clear();
  // One range that is divided from its end on, as late acknowledgements of lost packets do in descending order.
  set.add(0, 10 * COUNT);
  for (let i = COUNT; i > 0; i--) set.remove(i * 10 - 5, i * 10);
  assert.equal(set.size, COUNT);
  assert.ok(moved < 6 * COUNT, `${moved} numbers were moved`);
});

test('ranges added and removed at random are those of a naive model', () => {
  const step = fc.record({
    adds: fc.boolean(),
    start: fc.nat(200),
    size: fc.nat(20),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), fc.nat(220), (steps, probe) => {
      const set = new RangeSet();
      const model = new Set<number>();
      for (const { adds, start, size } of steps) {
        if (adds) set.add(start, start + size);
        else set.remove(start, start + size);
        for (let i = start; i < start + size; i++) {
          if (adds) model.add(i);
          else model.delete(i);
        }
      }
      const expected: [number, number][] = [];
      for (let i = 0; i <= 230; i++) {
        if (!model.has(i)) continue;
        const last = expected.at(-1);
        if (last && last[1] === i) last[1] = i + 1;
        else expected.push([i, i + 1]);
      }
      assert.deepEqual(rangesOf(set), expected);
      const found = expected.findIndex(([, end]) => end > probe);
      assert.equal(set.find(probe), found < 0 ? expected.length : found);
    }),
    { numRuns: 500 },
  );
});
