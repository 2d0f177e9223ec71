import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as settled } from 'node:timers/promises';
import { DeadlineError, DialError } from '../../../../src/net/errors.ts';
import { connectAny, interleave } from '../../../../src/net/sockets/happy-eyeballs.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

interface Attempt {
  readonly address: string;
  readonly signal: AbortSignal;
  readonly succeed: (connection: string) => void;
  readonly fail: (error: Error) => void;
}

function harness() {
  const clock = new ManualClock();
  const controller = new AbortController();
  const attempts: Attempt[] = [];
  const discarded: string[] = [];
  const connect = (address: string, signal: AbortSignal): Promise<string> => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    attempts.push({ address, signal, succeed: resolve, fail: reject });
    return promise;
  };
  const start = (...addresses: string[]): Promise<string> =>
    connectAny(addresses, connect, {
      clock,
      signal: controller.signal,
      discard: (connection) => discarded.push(connection),
    });
  const at = (index: number): Attempt => {
    const attempt = attempts[index];
    assert.ok(attempt, `attempt ${index} was not started`);
    return attempt;
  };
  const tried = (): string[] => attempts.map((attempt) => attempt.address);
  return { clock, controller, attempts, discarded, start, at, tried };
}

const dialError = (code: ConstructorParameters<typeof DialError>[0]) => new DialError(code, code);

test('families take turns, beginning with the first address and keeping order within each', () => {
  assert.deepEqual(interleave(['::1', '::2', '::3', '10.0.0.1', '10.0.0.2']), [
    '::1',
    '10.0.0.1',
    '::2',
    '10.0.0.2',
    '::3',
  ]);
  assert.deepEqual(interleave(['10.0.0.1', '::1', '::2']), ['10.0.0.1', '::1', '::2']);
  assert.deepEqual(interleave(['10.0.0.1', '10.0.0.2']), ['10.0.0.1', '10.0.0.2']);
  assert.deepEqual(interleave([]), []);
});

test('one address is connected without a timer and with the signal of the caller', async () => {
  const race = harness();
  const connection = race.start('192.0.2.1');
  assert.equal(race.clock.timers, 0);
  assert.equal(race.at(0).signal, race.controller.signal);
  race.at(0).succeed('one');
  assert.equal(await connection, 'one');
});

test('no address is an error of its own', async () => {
  await assert.rejects(harness().start(), { name: 'DialError', code: 'not_found' });
});

test('a slow attempt gets company after 250 ms and the first connection wins', async () => {
  const race = harness();
  const connection = race.start('2001:db8::1', '2001:db8::2', '192.0.2.1');
  race.clock.advance(249);
  assert.deepEqual(race.tried(), ['2001:db8::1']);
  race.clock.advance(1);
  assert.deepEqual(race.tried(), ['2001:db8::1', '192.0.2.1']);
  race.at(1).succeed('v4');
  assert.equal(await connection, 'v4');
  assert.equal(race.at(0).signal.aborted, true);
  assert.equal(race.clock.timers, 0);
  race.clock.advance(1000);
  assert.equal(race.attempts.length, 2);
});

test('an attempt that fails starts the next at once, and its delay anew', async () => {
  const race = harness();
  const connection = race.start('2001:db8::1', '192.0.2.1', '2001:db8::2');
  race.clock.advance(200);
  race.at(0).fail(dialError('refused'));
  await settled();
  assert.deepEqual(race.tried(), ['2001:db8::1', '192.0.2.1']);
  race.clock.advance(249);
  assert.equal(race.attempts.length, 2);
  race.clock.advance(1);
  assert.equal(race.attempts.length, 3);
  race.at(2).succeed('third');
  assert.equal(await connection, 'third');
});

test('a connection that comes after the winner is discarded', async () => {
  const race = harness();
  const connection = race.start('2001:db8::1', '192.0.2.1');
  race.clock.advance(250);
  race.at(0).succeed('first');
  assert.equal(await connection, 'first');
  race.at(1).succeed('late');
  await settled();
  assert.deepEqual(race.discarded, ['late']);
});

test('when every address fails, the first failure is reported with all of them as its cause', async () => {
  const race = harness();
  const connection = race.start('192.0.2.1', '192.0.2.2');
  race.at(0).fail(dialError('refused'));
  await settled();
  race.at(1).fail(dialError('timed_out'));
  await assert.rejects(connection, (error) => {
    assert.ok(error instanceof DialError);
    assert.equal(error.code, 'refused');
    assert.ok(error.cause instanceof AggregateError);
    assert.equal(error.cause.errors.length, 2);
    return true;
  });
  assert.equal(race.clock.timers, 0);
});

test('a host without IPv6 does not hide why the IPv4 server was not reached', async () => {
  const race = harness();
  const connection = race.start('2001:db8::1', '192.0.2.1');
  race.at(0).fail(dialError('unreachable_network'));
  await settled();
  race.at(1).fail(dialError('refused'));
  await assert.rejects(connection, { code: 'refused' });
});

test('failures of a whole family are reported when there are no others', async () => {
  const race = harness();
  const connection = race.start('2001:db8::1', '2001:db8::2');
  race.at(0).fail(dialError('unreachable_network'));
  await settled();
  race.at(1).fail(dialError('unreachable_network'));
  await assert.rejects(connection, { code: 'unreachable_network' });
});

test('a connect that throws is an attempt that failed', async () => {
  const clock = new ManualClock();
  const connection = connectAny(
    ['192.0.2.1', '192.0.2.2'],
    (address) => {
      if (address === '192.0.2.1') throw new Error('bad');
      return Promise.resolve(address);
    },
    { clock, signal: new AbortController().signal, discard: () => assert.fail('nothing is late') },
  );
  assert.equal(await connection, '192.0.2.2');
});

test('an abort ends the race, its attempts and its timer at once', async () => {
  const race = harness();
  const connection = race.start('2001:db8::1', '192.0.2.1');
  const reason = new Error('the client went away');
  race.controller.abort(reason);
  await assert.rejects(connection, { code: 'aborted', message: 'the client went away' });
  assert.equal(race.at(0).signal.reason, reason);
  assert.equal(race.clock.timers, 0);
  race.at(0).succeed('late');
  await settled();
  assert.deepEqual(race.discarded, ['late']);
  assert.equal(race.attempts.length, 1);
});

test('a limit that passes is reported as a time-out, before the race and during it', async () => {
  const race = harness();
  race.controller.abort(new DeadlineError('dialling took longer than 10 s'));
  await assert.rejects(race.start('2001:db8::1', '192.0.2.1'), { code: 'timed_out' });
  assert.equal(race.attempts.length, 0);
});
