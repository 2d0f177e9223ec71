import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseTime } from '../../../../src/cli/usage/times.ts';

const NOW = Date.parse('2026-01-31T15:20:30.500Z');

const shown = (text: string): string[] => {
  const { start, end } = parseTime('--since', text, NOW);
  return [start, end].map((ms) => new Date(ms).toISOString());
};

const TIMES: readonly (readonly [text: string, start: string, end?: string])[] = [
  ['90m', '2026-01-31T13:50:30.500Z'],
  ['12h', '2026-01-31T03:20:30.500Z'],
  ['7d', '2026-01-24T15:20:30.500Z'],
  ['today', '2026-01-31T00:00:00.000Z', '2026-02-01T00:00:00.000Z'],
  ['yesterday', '2026-01-30T00:00:00.000Z', '2026-01-31T00:00:00.000Z'],
  ['this month', '2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z'],
  ['Last Month', '2025-12-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'],
  ['this year', '2026-01-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'],
  ['2025', '2025-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'],
  ['2025-12', '2025-12-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'],
  ['2024-02-29', '2024-02-29T00:00:00.000Z', '2024-03-01T00:00:00.000Z'],
  ['2026-01-31T15:00', '2026-01-31T15:00:00.000Z'],
  ['2026-01-31 15:59:59Z', '2026-01-31T15:59:00.000Z'],
];

describe('a time', () => {
  for (const [text, start, end = start] of TIMES) {
    test(`${text} is in UTC`, () => assert.deepEqual(shown(text), [start, end]));
  }

  for (const text of [
    '',
    'd',
    '7w',
    'tomorrow',
    '2025-13',
    '2025-02-30',
    '2026-01-31T25:00',
    '0x7d',
  ]) {
    test(`${JSON.stringify(text)} is refused`, () => {
      assert.throws(() => shown(text), /--since needs a time such as 7d/);
    });
  }
});
