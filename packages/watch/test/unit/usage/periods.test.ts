import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { firstHour, hourOf, numberOf, periodsIn } from '../../../src/usage/periods.ts';

const hour = (text: string): number => hourOf(Date.parse(`${text}Z`));

describe('periods', () => {
  test('of a year and some hours are months, days and hours', () => {
    const from = hour('2025-01-30T22:00');
    const periods = periodsIn(from, hour('2026-03-02T03:00'));
    assert.deepEqual(
      periods.map(({ unit, first, last }) => [unit, last - first + 1]),
      [
        ['months', 13],
        ['days', 1],
        ['hours', 2],
        ['days', 1],
        ['hours', 3],
      ],
    );
  });

  test('of nothing are none', () => {
    assert.deepEqual(periodsIn(5, 5), []);
    assert.deepEqual(periodsIn(6, 5), []);
  });

  test('begin where the calendar says', () => {
    const month = numberOf('months', hour('2024-02-29T12:00'));
    assert.equal(firstHour('months', month), hour('2024-02-01T00:00'));
    assert.equal(firstHour('months', month + 1), hour('2024-03-01T00:00'));
    assert.equal(numberOf('days', hour('1970-01-02T23:00')), 1);
  });

  test('cover every hour of a range once', () => {
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.nat(3000), (from, hours) => {
        const covered: number[] = [];
        for (const { unit, first, last } of periodsIn(from, from + hours)) {
          for (let at = firstHour(unit, first); at < firstHour(unit, last + 1); at++) {
            covered.push(at);
          }
        }
        covered.sort((a, b) => a - b);
        assert.deepEqual(
          covered,
          Array.from({ length: hours }, (_, index) => from + index),
        );
      }),
    );
  });
});
