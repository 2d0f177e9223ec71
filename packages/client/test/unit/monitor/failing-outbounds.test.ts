import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LogEntry, FAILING_MS, FailingOutbounds } from '../../../src/monitor/log.ts';
import type { LogFields, LogLevel } from '@weir/base/log';

const line = (at: number, fields: LogFields, level: LogLevel = 'info'): LogEntry => ({
  kind: 'line',
  id: at,
  at,
  level,
  target: 'svc_app',
  message: 'in -> tcp a:443 by tokyo: refused (rule 2)',
  fields,
});

const tokyo: LogFields = { outbound: 'tokyo', host: 'a', port: 443, rule: 2, error: 'refused' };

test('failures of an outbound are counted, repetitions by their number, with the last cause', () => {
  const failing = new FailingOutbounds();
  failing.note(line(1_000, tokyo));
  failing.note(line(2_000, { ...tokyo, repeated: 7 }));
  failing.note(line(3_000, { outbound: 'tokyo', host: '::1', port: 80, error: 'timed out' }));
  failing.note(line(2_500, { outbound: 'osaka', error: 'refused' }));
  assert.deepEqual(failing.at(3_000), [
    {
      outbound: 'osaka',
      cause: 'refused',
      to: undefined,
      rule: undefined,
      count: 1,
      since: 2_500,
      last: 2_500,
    },
    {
      outbound: 'tokyo',
      cause: 'timed out',
      to: '[::1]:80',
      rule: undefined,
      count: 9,
      since: 1_000,
      last: 3_000,
    },
  ]);
});

test('an outbound without a failure for two minutes is not failing, and counts from new', () => {
  const failing = new FailingOutbounds();
  failing.note(line(1_000, tokyo));
  assert.equal(failing.at(1_000 + FAILING_MS - 1).length, 1);
  assert.deepEqual(failing.at(1_000 + FAILING_MS), []);
  failing.note(line(1_000 + FAILING_MS, tokyo));
  assert.equal(failing.at(1_000 + FAILING_MS)[0]?.count, 1);
});

test('blocked flows, ends of flows and other lines are no failures', () => {
  const failing = new FailingOutbounds();
  failing.note(line(1, { outbound: 'block', error: 'ads.example:443: blocked by outbound block' }));
  failing.note(line(1, tokyo, 'debug'));
  failing.note(line(1, { outbound: 'tokyo' }));
  failing.note(line(1, { inbound: 'socks' }));
  failing.note({ kind: 'lost', id: 1, at: 1, lost: 5 });
  assert.deepEqual([failing.at(1), failing.othersAt(1)], [[], 0]);
});

test('failures of which the log has only the number are counted for two minutes', () => {
  const failing = new FailingOutbounds();
  failing.note(line(1_000, { repeated: 100 }));
  failing.note(line(61_000, { repeated: 30 }));
  assert.equal(failing.othersAt(61_000), 130);
  assert.equal(failing.othersAt(61_000 + FAILING_MS), 0);
});

test('the number of remembered outbounds is bounded', () => {
  const failing = new FailingOutbounds();
  for (let at = 0; at < 1_000; at++) failing.note(line(at, { ...tokyo, outbound: `o${at}` }));
  assert.equal(failing.at(1_000).length, 64);
  assert.equal(failing.at(1_000)[0]?.outbound, 'o999');
});
