import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { freeChunk } from '@weir/io/links';
import { StreamReassembly } from '../../../src/streams/stream-reassembly.ts';

/** A byte for every offset, so that a wrong place shows. */
const source = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7 + (i >> 8)) & 0xff));
const EMPTY = Buffer.alloc(0);

const put = (data: StreamReassembly, offset: number, size: number): void =>
  data.insert(offset, source, offset, size);

function takeAll(data: StreamReassembly): Buffer {
  const chunks: Uint8Array[] = [];
  for (let chunk = data.take(); chunk; chunk = data.take()) {
    chunks.push(Buffer.from(chunk));
    freeChunk(chunk); // it is the reader's, whatever is still to come into its block
  }
  return Buffer.concat(chunks);
}

test('a chunk that was read is not written to by repetitions', () => {
  const data = new StreamReassembly();
  put(data, 0, 10);
  const chunk = data.take();
  data.insert(0, Buffer.alloc(20, 0xff), 0, 20);
  assert.deepEqual(Buffer.from(chunk ?? EMPTY), source.subarray(0, 10));
  assert.deepEqual(takeAll(data), Buffer.alloc(10, 0xff));
});

test('the memory of a large chunk can be freed, and what follows has its own', () => {
  const data = new StreamReassembly();
  put(data, 0, 131_072);
  takeAll(data);
  put(data, 131_072, 40_000);
  const chunk = data.take();
  assert.deepEqual(Buffer.from(chunk ?? EMPTY), source.subarray(131_072, 171_072));
  assert.ok(chunk);
  freeChunk(chunk);
  assert.equal(chunk.length, 0, 'nothing else uses the memory');
  assert.equal(data.memory, 0);
  put(data, 171_072, 60_000);
  assert.deepEqual(takeAll(data), source.subarray(171_072, 231_072));
});

test('what opens a stream is given away with its block: an idle one holds no memory', () => {
  const data = new StreamReassembly();
  put(data, 0, 10);
  assert.deepEqual(Buffer.from(data.take() ?? EMPTY), source.subarray(0, 10));
  assert.equal(data.memory, 0);
  put(data, 10, 100);
  assert.deepEqual(Buffer.from(data.take() ?? EMPTY), source.subarray(10, 110));
});

test('a later small chunk is a copy, and its block stays for what follows', () => {
  const data = new StreamReassembly();
  put(data, 0, 10);
  data.take();
  put(data, 10, 100);
  const { memory } = data;
  assert.deepEqual(Buffer.from(data.take() ?? EMPTY), source.subarray(10, 110));
  assert.equal(data.memory, memory);
});

test('every other byte in reverse order costs no more memory than its window', () => {
  const data = new StreamReassembly();
  for (let offset = 99_999; offset >= 1; offset -= 2) put(data, offset, 1);
  assert.equal(data.received, 0);
  assert.ok(data.memory <= (131_072 * 9) / 8, `${data.memory} bytes`);
  for (let offset = 99_998; offset >= 0; offset -= 2) put(data, offset, 1);
  assert.deepEqual(takeAll(data), source.subarray(0, 100_000));
});

test('memory follows what has come: nine times of it, and a little for each block', () => {
  const frame = fc.record({ offset: fc.integer({ min: 1, max: 290_000 }), size: fc.nat(1500) });
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 300, size: 'max' }), (frames) => {
      const data = new StreamReassembly();
      const blocks = new Set<number>();
      let sent = 0;
      for (const { offset, size } of frames) {
        put(data, offset, size);
        if (size === 0) continue;
        sent += 4 + size;
        for (let at = offset; at < offset + size; at++) blocks.add(at >> 11);
        assert.ok(data.memory <= 9 * sent + 400 * blocks.size);
      }
    }),
    { numRuns: 200 },
  );
});

test('what brings nothing new does not make a block of fragments', () => {
  const data = new StreamReassembly();
  put(data, 0, 2048);
  takeAll(data);
  put(data, 2049, 1);
  const { memory } = data;
  assert.ok(memory < 2048, `${memory} bytes`);
  put(data, 2049, 0);
  put(data, 3000, 0);
  put(data, 0, 2048);
  put(data, 3, 4);
  assert.equal(data.memory, memory);
  put(data, 2048, 1);
  assert.deepEqual(takeAll(data), source.subarray(2048, 2050));
});

test('a block that was read past its gap is given away, not copied', () => {
  const data = new StreamReassembly();
  put(data, 0, 131_072);
  takeAll(data);
  put(data, 131_072 + 1400, 30_000);
  put(data, 131_072, 1400);
  const chunk = data.take();
  assert.equal(chunk?.length, 31_400);
  assert.equal(data.memory, 0, 'the block is the reader’s');
});

test('memory that packets after a gap needed is not kept when there is no gap', () => {
  const data = new StreamReassembly();
  put(data, 0, 131_072);
  takeAll(data);
  for (let offset = 131_072 + 1400; offset < 280_000; offset += 1400) put(data, offset, 1400);
  put(data, 131_072, 1400);
  takeAll(data);
  assert.ok(data.memory <= 65_536, `${data.memory} bytes`);
});

test('frames in any order and of any size give the bytes that a naive model gives', () => {
  const frame = fc.record({ offset: fc.nat(140_000), size: fc.nat(9000) });
  const local = fc.record({ offset: fc.nat(300), size: fc.nat(40) });
  const step = fc.oneof(frame, local, fc.constant('take' as const));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
      const data = new StreamReassembly();
      const present = new Uint8Array(300_000);
      let highest = 0;
      let received = 0;
      const out: Buffer[] = [];
      for (const action of steps) {
        if (action === 'take') {
          out.push(takeAll(data));
        } else {
          put(data, action.offset, action.size);
          present.fill(1, action.offset, action.offset + action.size);
          if (action.size > 0) highest = Math.max(highest, action.offset + action.size);
        }
        while (present[received] === 1) received++;
        assert.equal(data.received, received);
        assert.ok(data.memory <= ((highest - data.readOffset + 65_536) * 9) / 8);
      }
      out.push(takeAll(data));
      assert.equal(data.readOffset, received);
      assert.deepEqual(Buffer.concat(out), source.subarray(0, received));
    }),
    { numRuns: 300 },
  );
});
