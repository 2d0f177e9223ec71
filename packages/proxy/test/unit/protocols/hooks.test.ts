import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AuthorizeAnswer,
  type AuthorizeQuestion,
  type Hook,
  HookCalls,
  isAuthorizeAnswer,
  isRouteAnswer,
  type RouteAnswer,
} from '../../../src/protocols/hooks.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';

const LIMITS = { timeoutMs: 10_000, maxPending: 16 };

function start(hook: Hook<AuthorizeQuestion, AuthorizeAnswer>) {
  const clock = new ManualClock();
  const calls = new HookCalls('authorize', hook, isAuthorizeAnswer, { ...LIMITS, clock });
  const ask = (source = '192.0.2.1'): AuthorizeAnswer | Promise<AuthorizeAnswer> =>
    calls.ask({ inbound: 'in', user: 'ann', password: 'pässword', source });
  return { clock, calls, ask };
}

test('a synchronous hook is called at once and never waits', () => {
  const asked: AuthorizeQuestion[] = [];
  const { calls, ask, clock } = start((question) => {
    asked.push(question);
    return { user: 'bob' };
  });
  assert.deepEqual(ask(), { user: 'bob' });
  assert.deepEqual(asked, [
    { inbound: 'in', user: 'ann', password: 'pässword', source: '192.0.2.1' },
  ]);
  assert.deepEqual([calls.pending, clock.timers], [0, 0]);
});

test('an asynchronous hook waits for its answer, and holds neither a place nor a timer afterwards', async () => {
  const answer = Promise.withResolvers<boolean>();
  const { calls, ask, clock } = start(() => answer.promise);
  const asked = ask();
  assert.deepEqual([calls.pending, clock.timers], [1, 1]);
  answer.resolve(true);
  assert.equal(await asked, true);
  assert.deepEqual([calls.pending, clock.timers], [0, 0]);
});

test('a call that takes too long fails, and its late answer has no effect', async () => {
  const answer = Promise.withResolvers<boolean>();
  const { calls, ask, clock } = start(() => answer.promise);
  const asked = ask();
  clock.advance(10_000);
  const message = 'the authorize hook has failed: it took longer than 10 s';
  await assert.rejects(Promise.resolve(asked), { name: 'HookError', message });
  answer.reject(new Error('late'));
  await answer.promise.catch(() => undefined);
  assert.equal(calls.pending, 0);
});

test('what a hook throws or rejects with is a HookError without the password', async () => {
  const expected = {
    name: 'HookError',
    message: 'the authorize hook has failed: no pässword for you'.replace('pässword', '…'),
  };
  const broken = (): never => {
    throw new Error('no pässword for you');
  };
  assert.throws(() => start(broken).ask(), expected);
  await assert.rejects(async () => start(async () => broken()).ask(), expected);
});

test('an answer or an error that throws when it is read is a HookError, and holds no place', async () => {
  const boom = (): never => {
    throw new Error('boom');
  };
  const trap = new Proxy({}, { get: boom, has: boom });
  const noText: unknown = Object.create(null);
  // What a faulty hook may return.
  // oxlint-disable-next-line unicorn/no-thenable
  const withThen = (then: PropertyDescriptor): object => Object.defineProperty({}, 'then', then);
  const answers: readonly [hook: () => unknown, message: RegExp][] = [
    [
      () => ({
        get user() {
          return boom();
        },
      }),
      /boom/,
    ],
    [() => withThen({ get: boom }), /boom/],
    [() => withThen({ value: boom }), /boom/],
    [() => trap, /boom/],
    [
      () =>
        Promise.resolve({
          get user() {
            return boom();
          },
        }),
      /boom/,
    ],
    [
      () => {
        throw noText;
      },
      /without a text/,
    ],
    [
      () => {
        throw trap;
      },
      /without a text/,
    ],
    [() => Promise.reject(noText), /without a text/],
    [() => Promise.reject(Object.assign(new Error('x'), { message: 5 })), /without a text/],
  ];
  for (const [hook, message] of answers) {
    const { calls, ask, clock } = start(hook as () => boolean);
    await assert.rejects(async () => ask(), { name: 'HookError', message });
    assert.deepEqual([calls.pending, clock.timers], [0, 0]);
  }
});

test('a hook that calls itself without end is an error, and is called again afterwards', () => {
  let [asked, isRecursive] = [0, true];
  const { ask } = start(() => {
    asked++;
    return isRecursive ? ask() : true;
  });
  assert.throws(ask, { name: 'HookError', message: 'the authorize hook calls itself' });
  assert.equal(asked, 16);
  isRecursive = false;
  assert.equal(ask(), true);
});

test('an invalid answer is an error that does not quote it', async () => {
  for (const invalid of [undefined, null, 'yes', 1, {}, { user: 7 }]) {
    const hook = (): never => invalid as never;
    const expected = {
      name: 'HookError',
      message: /^the authorize hook has returned (a value|null)/,
    };
    assert.throws(() => start(hook).ask(), expected);
    await assert.rejects(async () => start(async () => hook()).ask(), expected);
  }
  const route: readonly RouteAnswer[] = [undefined, 'direct', { refuse: true }];
  assert.ok(route.every(isRouteAnswer));
  assert.ok(![null, false, 1, {}, { refuse: false }].some(isRouteAnswer));
});

test('the number of calls that wait is bounded, and further ones do not reach the hook', () => {
  let called = 0;
  const { calls, ask } = start(() => {
    called++;
    return new Promise<boolean>(() => undefined);
  });
  for (let source = 0; source < 16; source++) void ask(`192.0.2.${source}`);
  assert.throws(() => ask('192.0.2.99'), { message: '16 calls of the authorize hook are waiting' });
  assert.deepEqual([calls.pending, called], [16, 16]);
});

test('one source cannot take all places', () => {
  const { calls, ask } = start(() => new Promise<boolean>(() => undefined));
  for (let call = 0; call < 8; call++) void ask('2001:db8::1');
  // Half of the places are taken; another address of the same network is the same source.
  assert.throws(() => ask('2001:db8::2'), { name: 'HookError' });
  void ask('192.0.2.1');
  void ask('192.0.2.1');
  assert.throws(() => ask('192.0.2.1'), { name: 'HookError' });
  void ask('192.0.2.2');
  assert.equal(calls.pending, 11);
});
