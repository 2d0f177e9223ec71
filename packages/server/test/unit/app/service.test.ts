import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceNotifier, takeServiceEnvironment } from '../../../src/app/service.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';

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

/** A notifier whose messages are taken one after the other. */
function subject(watchdogMs?: number) {
  const clock = new ManualClock();
  const sent: string[] = [];
  let full = false;
  const notifier = new ServiceNotifier({
    clock,
    pid: 7,
    monotonic: () => 42n,
    watchdogMs,
    send: (state) => {
      if (full) return false;
      sent.push(state);
      return true;
    },
  });
  return {
    clock,
    notifier,
    take: () => sent.splice(0),
    setFull: (now: boolean) => {
      full = now;
    },
  };
}

test('a start asks for more time until it is ready, for five minutes at most', () => {
  const { clock, notifier, take } = subject();
  notifier.starting('starting');
  assert.deepEqual(take(), ['STATUS=starting']);
  clock.advance(10_000);
  const MORE = 'EXTEND_TIMEOUT_USEC=30000000';
  assert.deepEqual(take(), [MORE, MORE]);
  notifier.ready('serving');
  assert.deepEqual(take(), ['READY=1\nMAINPID=7\nSTATUS=serving']);
  clock.advance(60_000);
  assert.deepEqual(take(), []);

  const other = subject();
  other.notifier.starting('starting');
  other.clock.advance(3_600_000);
  assert.equal(other.take().length, 1 + 300_000 / 5_000);
});

test('a reload is reported with its time, and its end with its outcome', () => {
  const { notifier, take } = subject();
  notifier.ready('serving');
  take();
  notifier.reloading('reloading');
  assert.deepEqual(take(), ['RELOADING=1\nMONOTONIC_USEC=42\nSTATUS=reloading']);
  notifier.reloaded('a\n  refused reload');
  assert.deepEqual(take(), ['READY=1\nSTATUS=a refused reload']);
});

test('reloads that overlap are one to the manager', () => {
  const { notifier, take } = subject();
  notifier.ready('serving');
  notifier.reloading('a');
  notifier.reloading('b');
  notifier.reloaded('a');
  notifier.reloaded('b');
  assert.deepEqual(
    take().map((state) => state.split('\n')[0]),
    ['READY=1', 'RELOADING=1', 'READY=1'],
  );
});

test('after a stop has begun no reload and no start reports that it is ready', () => {
  const { notifier, take } = subject();
  notifier.ready('serving');
  notifier.reloading('reloading');
  take();
  notifier.stopping('stopping');
  notifier.reloaded('done');
  notifier.ready('late');
  assert.deepEqual(take(), ['STOPPING=1\nSTATUS=stopping']);
});

test('a watchdog gets a sign of life at half of its time, from the first READY on', () => {
  const { clock, notifier, take } = subject(4_000);
  notifier.starting('starting');
  clock.advance(4_000);
  notifier.ready('serving');
  take();
  clock.advance(1_999);
  assert.deepEqual(take(), []);
  clock.advance(1);
  assert.deepEqual(take(), ['WATCHDOG=1']);
  clock.advance(6_000);
  assert.deepEqual(take(), ['WATCHDOG=1', 'WATCHDOG=1', 'WATCHDOG=1']);
  notifier.close();
  assert.equal(clock.timers, 0);
});

test('what does not fit the queue of the manager is sent later, in order and bounded', () => {
  const { clock, notifier, take, setFull } = subject(1_000);
  notifier.ready('serving');
  take();
  setFull(true);
  for (let i = 0; i < 100; i++) {
    notifier.reloading(`${i}`);
    notifier.reloaded(`${i}`);
  }
  clock.advance(5_000);
  setFull(false);
  clock.advance(50);
  const late = take();
  assert.equal(late.length, 16);
  assert.deepEqual(late.slice(-2), ['READY=1\nSTATUS=99', 'WATCHDOG=1']);
});

test('a status is one line of bounded length', () => {
  const { notifier, take } = subject();
  notifier.ready('x'.repeat(10_000));
  assert.ok((take()[0] ?? '').length < 1000);
});

test('a sign of life that fails, as without a descriptor, is followed by the next one', () => {
  const clock = new ManualClock();
  let signs = 0;
  const notifier = new ServiceNotifier({
    clock,
    pid: 7,
    monotonic: () => 42n,
    watchdogMs: 4_000,
    send: (state) => {
      if (state === 'WATCHDOG=1' && ++signs === 1) throw new Error('EMFILE');
      return true;
    },
  });
  notifier.ready('serving');
  assert.throws(() => clock.advance(2_000), /EMFILE/);
  clock.advance(6_000);
  assert.equal(signs, 4);
  notifier.close();
});

test('a drain asks for more time as long as it lasts, for the stop that waits for it', () => {
  const MORE = 'EXTEND_TIMEOUT_USEC=30000000';
  const { clock, notifier, take } = subject();
  notifier.ready('serving');
  take();
  notifier.draining('draining');
  clock.advance(3_600_000);
  assert.deepEqual(take(), ['STATUS=draining', ...Array<string>(720).fill(MORE)]);
  notifier.accepting('serving');
  clock.advance(60_000);
  assert.deepEqual(take(), ['STATUS=serving']);
});

test('a long stop asks for more time until its limit, beside the watchdog', () => {
  const MORE = 'EXTEND_TIMEOUT_USEC=30000000';
  const { clock, notifier, take } = subject(20_000);
  notifier.ready('serving');
  notifier.draining('draining');
  take();
  notifier.stopping('stopping', 60_000);
  clock.advance(10_000);
  const first = take();
  assert.equal(first[0], 'STOPPING=1\nSTATUS=stopping');
  assert.equal(first.filter((state) => state === MORE).length, 2);
  assert.ok(first.includes('WATCHDOG=1'));
  clock.advance(3_600_000);
  assert.equal(take().filter((state) => state === MORE).length, 10);
});
