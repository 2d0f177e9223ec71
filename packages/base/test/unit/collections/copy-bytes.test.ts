import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copyBytes, copyOf } from '../../../src/collections/copy-bytes.ts';

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
