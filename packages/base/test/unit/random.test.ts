import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SystemRandomSource } from '../../src/random.ts';

test('returns the requested number of bytes, also none and more than its pool', () => {
  const random = new SystemRandomSource();
  for (const length of [0, 1, 8192, 8193, 100_000]) {
    assert.equal(random.bytes(length).length, length);
  }
});

test('never returns the same bytes twice', () => {
  const random = new SystemRandomSource();
  const seen = new Set<string>();
  for (let i = 0; i < 5000; i++) {
    seen.add(random.bytes(16).toString('hex'));
    seen.add(random.bytes(40).toString('hex'));
  }
  assert.equal(seen.size, 10_000);
});

test('fills the whole of a view and nothing around it', () => {
  const random = new SystemRandomSource();
  const around = new Uint8Array(3000);
  random.fill(around.subarray(1000, 2000));
  assert.ok(around.subarray(0, 1000).every((byte) => byte === 0));
  assert.ok(around.subarray(2000).every((byte) => byte === 0));
  // 16 zero bytes in a row among random ones: once in 10^35 runs.
  for (let at = 1000; at < 2000 - 16; at += 16) {
    assert.ok(around.subarray(at, at + 16).some((byte) => byte !== 0));
  }
});

test('numbers stay below their limit and reach all of it', () => {
  const random = new SystemRandomSource();
  const seen = new Set<number>();
  for (let i = 0; i < 1000; i++) seen.add(random.below(3));
  assert.deepEqual(seen, new Set([0, 1, 2]));
});
