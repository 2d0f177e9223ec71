import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger, FilterSwitch, type LogFields, parseFilter } from '@weir/base/log';
import { FailureLog } from '../../../src/engine/flow-log.ts';
import { jsonFormat } from '../../../../base/src/log/line-format.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import { logLines } from '../../../../../test/support/engine/log-lines.ts';

const MINUTE = 60_000;

function start(level = 'info') {
  const { log, lines } = logLines(level);
  const clock = new ManualClock();
  const failures = new FailureLog(log, clock);
  return { lines, clock, failures };
}

test('a line is written at once, and repetitions are counted at the end of the minute', () => {
  const { lines, clock, failures } = start();
  failures.write('a');
  clock.advance(10_000);
  for (let i = 0; i < 3; i++) failures.write('a');
  failures.write('b');
  assert.deepEqual(lines, ['INFO a', 'INFO b']);
  clock.advance(MINUTE - 10_000);
  assert.deepEqual(lines.slice(2), ['INFO a; 3 more like this in the last minute']);
  assert.equal(clock.timers, 0);
});

test('what happens once a minute is a line each time, without a timer', () => {
  const { lines, clock, failures } = start();
  for (let i = 0; i < 3; i++) {
    failures.write('a');
    assert.equal(clock.timers, 0);
    clock.advance(MINUTE);
  }
  assert.deepEqual(lines, ['INFO a', 'INFO a', 'INFO a']);
});

test('a flood of different failures is a bounded number of lines and of remembered ones', () => {
  const { lines, clock, failures } = start();
  for (let i = 0; i < 100_000; i++) failures.write(`host${i}.example`);
  assert.equal(lines.length, 128);
  for (let i = 0; i < 100; i++) failures.write(`host${i}.example`);
  clock.advance(MINUTE);
  assert.equal(lines.length, 128 + 100 + 1);
  assert.equal(lines.at(-1), 'INFO 99872 other flows failed in the last minute');
  failures.write('later.example');
  assert.equal(lines.at(-1), 'INFO later.example');
});

test('a line has a bounded length', () => {
  const { lines, failures } = start();
  failures.write('x'.repeat(100_000));
  assert.equal(lines[0]?.length, 'INFO '.length + 1025);
});

test('a flush writes what was only counted', () => {
  const { lines, clock, failures } = start();
  failures.write('a');
  failures.write('a');
  failures.flush();
  assert.deepEqual(lines, ['INFO a', 'INFO a; 1 more like this in the last minute']);
  assert.equal(clock.timers, 0);
});

test('the counts are fields, without those of a client', () => {
  const clock = new ManualClock();
  const lines: string[] = [];
  const sink = { write: (line: string) => void lines.push(line) };
  const switched = new FilterSwitch(parseFilter('info'));
  const log = createLogger(switched, sink, jsonFormat, 'svc_app');
  const failures = new FailureLog(log, clock);
  const fields = { outbound: 'a', user: 'ann', source: '127.0.0.1' };
  for (let i = 0; i < 130; i++) failures.write(`host${i % 129}`, fields);
  clock.advance(MINUTE);
  const [one, others] = lines.slice(128).map((line) => JSON.parse(line) as LogFields);
  assert.deepEqual(
    [one?.repeated, one?.outbound, one?.user, one?.source],
    [1, 'a', undefined, undefined],
  );
  assert.equal(others?.repeated, 1);
});

test('nothing need be made where nothing is written', () => {
  assert.equal(start('warn').failures.enabled, false);
  assert.equal(start('info').failures.enabled, true);
});
