import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { ReceivedParts } from '../../../../src/quic/streams/received-parts.ts';

const SIZE = 2048;

test('a few gaps take no bitmap, however many packets lie between them', () => {
  const parts = new ReceivedParts(65_536);
  for (let at = 1400; at + 1400 <= 65_536; at += 1400) {
    if (at % 7000 !== 0) parts.add(at, at + 1400);
  }
  assert.equal(parts.memory, 0);
  assert.equal(parts.firstMissing(0), 0);
  assert.equal(parts.firstMissing(1400), 7000);
  assert.equal(parts.end, 63_000);
});

test('many gaps take a bit for each byte and no more, and their order is of no account', () => {
  const parts = new ReceivedParts(SIZE);
  for (let at = SIZE - 1; at > 0; at -= 2) parts.add(at, at + 1);
  assert.equal(parts.memory, SIZE / 8);
  assert.equal(parts.firstMissing(1), 2);
  for (let at = 0; at < SIZE; at += 2) parts.add(at, at + 1);
  assert.equal(parts.firstMissing(0), SIZE);
  assert.equal(parts.memory, SIZE / 8);
});

test('ranges and bits say the same as a flag for each byte', () => {
  const range = fc
    .tuple(fc.nat(SIZE - 1), fc.integer({ min: 1, max: 100 }))
    .map(([start, size]) => ({ start, end: Math.min(SIZE, start + size) }));
  fc.assert(
    fc.property(
      fc.array(range, { maxLength: 60, size: 'max' }),
      fc.nat(SIZE - 1),
      (ranges, from) => {
        const parts = new ReceivedParts(SIZE);
        const flags = new Uint8Array(SIZE);
        for (const { start, end } of ranges) {
          parts.add(start, end);
          flags.fill(1, start, end);
          const missing = flags.indexOf(0, from);
          assert.equal(parts.firstMissing(from), missing < 0 ? SIZE : missing);
          assert.equal(parts.end, flags.lastIndexOf(1) + 1);
        }
      },
    ),
    { numRuns: 300 },
  );
});
