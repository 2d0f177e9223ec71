import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { ByteQueue } from '../../../src/collections/byte-queue.ts';

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
