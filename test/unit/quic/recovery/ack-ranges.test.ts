import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { AckRanges } from '../../../../src/quic/recovery/ack-ranges.ts';
import { DUPLICATE_WINDOW, MAX_ACK_RANGES } from '../../../../src/quic/recovery/limits.ts';

function rangesOf(ranges: AckRanges): [number, number][] {
  return Array.from({ length: ranges.length }, (_, index) => [
    ranges.smallest(index),
    ranges.largest(index),
  ]);
}

const received = (...numbers: number[]): AckRanges => {
  const ranges = new AckRanges();
  for (const number of numbers) ranges.add(number);
  return ranges;
};

describe('ranges of received packets (RFC 9000 §13.2.3)', () => {
  for (const { name, numbers, expected } of [
    { name: 'consecutive numbers are one', numbers: [0, 1, 2], expected: [[0, 2]] },
    {
      name: 'the newest comes first',
      numbers: [0, 5, 9],
      expected: [
        [9, 9],
        [5, 5],
        [0, 0],
      ],
    },
    { name: 'a number that fills a gap joins two', numbers: [0, 2, 1], expected: [[0, 2]] },
    {
      name: 'a number extends one downwards',
      numbers: [9, 5, 8],
      expected: [
        [8, 9],
        [5, 5],
      ],
    },
    {
      name: 'a number extends one upwards',
      numbers: [9, 5, 6],
      expected: [
        [9, 9],
        [5, 6],
      ],
    },
    {
      name: 'a number comes between two',
      numbers: [9, 1, 5],
      expected: [
        [9, 9],
        [5, 5],
        [1, 1],
      ],
    },
    { name: 'a repeated number changes nothing', numbers: [3, 4, 3], expected: [[3, 4]] },
    { name: 'numbers may come backwards', numbers: [3, 2, 1, 0], expected: [[0, 3]] },
  ]) {
    test(name, () => {
      assert.deepEqual(rangesOf(received(...numbers)), expected);
    });
  }

  test('beyond the bound the oldest range is forgotten', () => {
    const ranges = new AckRanges();
    for (let i = 0; i < MAX_ACK_RANGES + 10; i++) ranges.add(i * 2);
    assert.equal(ranges.length, MAX_ACK_RANGES);
    assert.equal(ranges.smallest(MAX_ACK_RANGES - 1), 20);
    // One that would be the oldest is not taken, one between others is.
    ranges.add(7);
    assert.equal(ranges.smallest(MAX_ACK_RANGES - 1), 20);
    ranges.add(2 * (MAX_ACK_RANGES + 9) + 10);
    ranges.add(2 * (MAX_ACK_RANGES + 9) + 5);
    assert.equal(ranges.length, MAX_ACK_RANGES);
    assert.equal(ranges.smallest(1), 2 * (MAX_ACK_RANGES + 9) + 5);
  });

  test('what the peer knows is forgotten, but for the newest number (§13.2.4)', () => {
    const ranges = received(0, 1, 5, 6, 7, 9);
    ranges.forget(5);
    assert.deepEqual(rangesOf(ranges), [
      [9, 9],
      [6, 7],
    ]);
    ranges.forget(20);
    assert.deepEqual(rangesOf(ranges), [[9, 9]]);
    new AckRanges().forget(3);
  });

  test('packets are noticed that come twice, also when their ranges are forgotten (§12.3)', () => {
    const ranges = received(0, 1, 5);
    ranges.forget(5);
    for (const number of [0, 1, 5]) assert.equal(ranges.has(number), true);
    for (const number of [2, 4, 6]) assert.equal(ranges.has(number), false);
    assert.equal(ranges.largestReceived, 5);
  });

  test('packets too old to know are taken to have come', () => {
    const ranges = received(DUPLICATE_WINDOW + 10);
    assert.equal(ranges.has(10), true);
    assert.equal(ranges.has(11), false);
  });

  test('random arrivals give the ranges of a set of numbers', () => {
    const step = fc.oneof(fc.record({ add: fc.nat(150) }), fc.record({ forget: fc.nat(150) }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        const ranges = new AckRanges();
        const model = new Set<number>();
        for (const one of steps) {
          if ('add' in one) {
            ranges.add(one.add);
            model.add(one.add);
          } else {
            ranges.forget(one.forget);
            const newest = Math.max(...model);
            // The newest range keeps a number to report.
            for (const number of model) {
              if (number <= one.forget && number !== newest) model.delete(number);
            }
          }
          const expected: [number, number][] = [];
          for (const number of [...model].sort((a, b) => a - b)) {
            const last = expected.at(-1);
            if (last?.[1] === number - 1) last[1] = number;
            else expected.push([number, number]);
          }
          const bounded = expected.toReversed().slice(0, MAX_ACK_RANGES);
          assert.deepEqual(rangesOf(ranges).slice(0, bounded.length), bounded);
        }
      }),
    );
  });
});
