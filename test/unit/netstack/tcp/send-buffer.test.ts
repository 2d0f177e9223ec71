import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  CHUNK_OVERHEAD,
  FIRST_SEND_BUFFER,
  MAX_SEND_BUFFER,
} from '../../../../src/netstack/tcp/buffer-limits.ts';
import { SendBuffer } from '../../../../src/netstack/tcp/send-buffer.ts';

const OPERATION = fc.oneof(
  { weight: 3, arbitrary: fc.record({ write: fc.uint8Array({ maxLength: 50, size: 'max' }) }) },
  { weight: 4, arbitrary: fc.record({ copy: fc.nat(1000), length: fc.nat(200) }) },
  { weight: 2, arbitrary: fc.record({ acknowledge: fc.nat(60) }) },
);

test('random writes, copies and acknowledgements give the bytes of one long array', () => {
  fc.assert(
    fc.property(fc.array(OPERATION, { maxLength: 80, size: 'max' }), (operations) => {
      const buffer = new SendBuffer();
      const written: number[] = [];
      let acknowledged = 0;
      for (const operation of operations) {
        if ('write' in operation) {
          buffer.write(operation.write);
          written.push(...operation.write);
        } else if ('copy' in operation) {
          const size = written.length - acknowledged;
          const start = acknowledged + (size === 0 ? 0 : operation.copy % size);
          const length = Math.min(operation.length, written.length - start);
          const into = new Uint8Array(length + 2).fill(7);
          buffer.copy(start, length, into, 1);
          assert.deepEqual([...into], [7, ...written.slice(start, start + length), 7]);
        } else {
          acknowledged = Math.min(acknowledged + operation.acknowledge, written.length);
          buffer.acknowledge(acknowledged);
        }
        assert.equal(buffer.end, written.length);
        assert.equal(buffer.size, written.length - acknowledged);
      }
    }),
    { numRuns: 300 },
  );
});

test('a writer waits at the limit and goes on when half of it is free, which is said once', () => {
  const buffer = new SendBuffer();
  assert.equal(buffer.write(new Uint8Array(FIRST_SEND_BUFFER - CHUNK_OVERHEAD - 1)), true);
  assert.equal(buffer.write(new Uint8Array(1)), false);
  assert.equal(buffer.takeWritable(), false);
  buffer.acknowledge(FIRST_SEND_BUFFER / 2 - 2 * CHUNK_OVERHEAD);
  assert.equal(buffer.takeWritable(), false);
  buffer.acknowledge(FIRST_SEND_BUFFER / 2 + CHUNK_OVERHEAD);
  assert.equal(buffer.takeWritable(), true);
  assert.equal(buffer.takeWritable(), false);
});

test('tiny chunks count with what they cost', () => {
  const buffer = new SendBuffer();
  let chunks = 1;
  while (buffer.write(new Uint8Array(1))) chunks++;
  assert.ok(chunks <= FIRST_SEND_BUFFER / CHUNK_OVERHEAD);
});

test('the limit follows twice the congestion window, and neither shrinks nor passes its bound', () => {
  const buffer = new SendBuffer();
  buffer.follow(FIRST_SEND_BUFFER);
  assert.equal(buffer.limit, 2 * FIRST_SEND_BUFFER);
  buffer.follow(1000);
  assert.equal(buffer.limit, 2 * FIRST_SEND_BUFFER);
  buffer.follow(MAX_SEND_BUFFER);
  assert.equal(buffer.limit, MAX_SEND_BUFFER);
});

test('a cleared buffer holds nothing and takes no acknowledgement beyond its end', () => {
  const buffer = new SendBuffer();
  buffer.write(new Uint8Array(FIRST_SEND_BUFFER));
  buffer.clear();
  assert.equal(buffer.size, 0);
  buffer.acknowledge(10 * FIRST_SEND_BUFFER);
  assert.equal(buffer.size, 0);
  assert.equal(buffer.takeWritable(), false);
});

test('the memory of a chunk that was given is freed when all of it is acknowledged', () => {
  const buffer = new SendBuffer();
  const given = new Uint8Array(64 * 1024);
  const written = new Uint8Array(64 * 1024);
  const shared = new Uint8Array(128 * 1024).subarray(64 * 1024);
  buffer.write(given, false, true);
  buffer.write(written);
  buffer.write(shared, false, true);
  buffer.acknowledge(given.length - 1);
  assert.equal(given.length, 64 * 1024);
  buffer.acknowledge(buffer.end);
  assert.equal(given.length, 0);
  assert.equal(written.length, 64 * 1024);
  assert.equal(shared.length, 64 * 1024);
});

test('a cleared buffer frees what it was given', () => {
  const buffer = new SendBuffer();
  const given = new Uint8Array(64 * 1024);
  buffer.write(given, false, true);
  buffer.clear();
  assert.equal(given.length, 0);
  assert.equal(buffer.size, 0);
});
