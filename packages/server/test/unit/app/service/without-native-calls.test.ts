import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adoptSockets, openNotifier } from '../../../../src/app/service.ts';
import { createLogger, FilterSwitch, chooseFilter } from '@weir/base/log';
import { NativeError } from '@weir/io/platform/native';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

const openCalls = (): never => {
  throw new NativeError('the system calls for sockets are not available');
};

function recorder() {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const filter = new FilterSwitch(chooseFilter(undefined, 'trace'));
  const log = createLogger(filter, { write }, (level, _, message) => `${level} ${message}`, 'test');
  return { lines, log };
}

test('without native calls a manager is not notified, which is one warning and no timer', () => {
  const { lines, log } = recorder();
  const clock = new ManualClock();
  const manager = { notifySocket: '/run/notify', watchdogMs: 1000, passed: [] };
  const notifier = openNotifier(manager, { clock, log, pid: 1, openCalls });
  notifier.starting('starting');
  notifier.ready('serving');
  assert.equal(clock.timers, 0);
  notifier.reloading('reloading');
  notifier.reloaded('serving');
  notifier.stopping('stopping');
  assert.deepEqual(lines, [
    'warn service manager: it cannot be notified: the system calls for sockets are not available',
  ]);
});

test('without native calls passed sockets are not used, which is one warning', () => {
  const { lines, log } = recorder();
  adoptSockets([{ fd: 3, name: 'web' }], log, openCalls).warnOfUnused();
  assert.deepEqual(lines, [
    'warn passed sockets cannot be used: the system calls for sockets are not available',
  ]);
});

test('without a manager no native code is loaded', () => {
  const { lines, log } = recorder();
  const nothing = { notifySocket: undefined, watchdogMs: 1000, passed: [] };
  const clock = new ManualClock();
  openNotifier(nothing, { clock, log, pid: 1, openCalls }).ready('serving');
  adoptSockets([], log, openCalls).warnOfUnused();
  assert.deepEqual(lines, []);
  assert.equal(clock.timers, 0);
});

test('a NOTIFY_SOCKET that is neither a path nor an abstract name is a warning', () => {
  const { lines, log } = recorder();
  const clock = new ManualClock();
  for (const notifySocket of ['relative', '@', '/']) {
    const manager = { notifySocket, watchdogMs: undefined, passed: [] };
    openNotifier(manager, { clock, log, pid: 1, openCalls });
    assert.equal(
      lines.pop(),
      `warn service manager: NOTIFY_SOCKET="${notifySocket}" is no unix socket`,
    );
  }
});
