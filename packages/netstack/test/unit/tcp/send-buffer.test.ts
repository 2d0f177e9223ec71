import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHUNK_OVERHEAD, FIRST_SEND_BUFFER, MAX_SEND_BUFFER } from '../../../src/limits.ts';
import { SendBuffer } from '../../../src/tcp/send-buffer.ts';

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
