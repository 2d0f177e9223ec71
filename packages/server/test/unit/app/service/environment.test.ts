import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takeServiceEnvironment } from '../../../../src/app/service.ts';

const PID = 4711;
const NOTHING = { notifySocket: undefined, watchdogMs: undefined, passed: [] };

test('without variables there is no manager', () => {
  assert.deepEqual(takeServiceEnvironment({}, PID), NOTHING);
});

test('the variables are read and removed, others stay', () => {
  const env: Record<string, string | undefined> = {
    HOME: '/',
    NOTIFY_SOCKET: '/run/notify',
    WATCHDOG_USEC: '30000000',
    WATCHDOG_PID: '4711',
    LISTEN_PID: '4711',
    LISTEN_FDS: '3',
    LISTEN_FDNAMES: 'socks:http',
  };
  assert.deepEqual(takeServiceEnvironment(env, PID), {
    notifySocket: '/run/notify',
    watchdogMs: 30_000,
    passed: [
      { fd: 3, name: 'socks' },
      { fd: 4, name: 'http' },
      { fd: 5, name: 'unknown' },
    ],
  });
  assert.deepEqual(Object.keys(env), ['HOME']);
});

test('a watchdog or sockets for another process are left out', () => {
  const env = { WATCHDOG_USEC: '1', WATCHDOG_PID: '1', LISTEN_PID: '1', LISTEN_FDS: '1' };
  assert.deepEqual(takeServiceEnvironment({ ...env }, PID), NOTHING);
});

test('a watchdog without a process is for this one, sockets without one are for none', () => {
  const found = takeServiceEnvironment({ WATCHDOG_USEC: '2000', LISTEN_FDS: '1' }, PID);
  assert.deepEqual(found, { ...NOTHING, watchdogMs: 2 });
});

test('values that are no numbers count as not set, and the number of sockets is bounded', () => {
  for (const text of ['', '-1', '1e3', 'x', '9'.repeat(30)]) {
    const env = { WATCHDOG_USEC: text, LISTEN_PID: '4711', LISTEN_FDS: text, NOTIFY_SOCKET: '' };
    assert.deepEqual(takeServiceEnvironment(env, PID), NOTHING, text);
  }
  const many = takeServiceEnvironment({ LISTEN_PID: '4711', LISTEN_FDS: '999999999' }, PID);
  assert.equal(many.passed.length, 1024);
});
