import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as settled } from 'node:timers/promises';
import type { DnsAnswer, DnsBackend } from '../../../src/dns/backend.ts';
import { CachedResolver } from '../../../src/dns/cached-resolver.ts';
import { DISPLACED_A_SECOND } from '../../../src/dns/limits.ts';
import type { RawQuestion } from '../../../src/dns/message.ts';
import type { AddressRecordType } from '../../../src/dns/policy.ts';
import { DeadlineError, DialError } from '@weir/io';
import { FLOWS_RESUMED_A_TURN } from '../../../../io/src/net/time/turns.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import { uncollected } from '../../../../../test/support/process/uncollected.ts';

interface Question {
  readonly name: string;
  readonly type: AddressRecordType;
  readonly signal: AbortSignal;
  readonly answer: (ttl: number, ...addresses: string[]) => void;
  /** Answers that there is no such name. */
  readonly deny: (ttl: number) => void;
  readonly fail: (error: Error) => void;
}

interface PassedOn {
  readonly question: RawQuestion;
  readonly signal: AbortSignal;
  readonly answer: (message: Buffer) => void;
}

/** A backend whose answers are given by hand. */
class ManualBackend implements DnsBackend {
  readonly questions: Question[] = [];
  readonly passedOn: PassedOn[] = [];
  closings = 0;

  query(name: string, type: AddressRecordType, signal: AbortSignal): Promise<DnsAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<DnsAnswer>();
    const answer = (ttl: number, ...addresses: string[]): void => resolve({ addresses, ttl });
    const deny = (ttl: number): void => resolve({ addresses: [], ttl, absent: true });
    this.questions.push({ name, type, signal, answer, deny, fail: reject });
    return promise;
  }

  forward(question: RawQuestion, signal: AbortSignal): Promise<Buffer> {
    const { promise, resolve } = Promise.withResolvers<Buffer>();
    this.passedOn.push({ question, signal, answer: resolve });
    return promise;
  }

  close(): void {
    this.closings++;
    for (const question of this.questions) question.fail(new Error('closed'));
  }

  get asked(): string[] {
    return this.questions.map(({ name, type }) => `${type} ${name}`);
  }

  /** The newest question of a type. */
  of(type: AddressRecordType): Question {
    const question = this.questions.findLast((each) => each.type === type);
    assert.ok(question, `${type} was not asked for`);
    return question;
  }
}

function harness() {
  const clock = new ManualClock();
  const backend = new ManualBackend();
  return { clock, backend, resolver: new CachedResolver(backend, clock) };
}

test('both families are asked in parallel and put in the order of Happy Eyeballs', async () => {
  const { backend, resolver } = harness();
  const found = resolver.resolve('Example.COM.', 'auto');
  assert.deepEqual(backend.asked, ['AAAA example.com', 'A example.com']);
  backend.of('A').answer(60, '192.0.2.1', '192.0.2.2');
  backend.of('AAAA').answer(60, '2001:db8::1');
  assert.deepEqual(await found, ['2001:db8::1', '192.0.2.1', '192.0.2.2']);
});

test('a policy for one family asks only for that', async () => {
  const { backend, resolver } = harness();
  const found = resolver.resolve('example.com', 'ipv6_only');
  backend.of('AAAA').answer(60, '2001:db8::1');
  assert.deepEqual(await found, ['2001:db8::1']);
  assert.deepEqual(backend.asked, ['AAAA example.com']);
});

test('answers are kept for their TTL and asked anew after it', async () => {
  const { clock, backend, resolver } = harness();
  const first = resolver.resolve('example.com', 'ipv4_only');
  backend.of('A').answer(30, '192.0.2.1');
  await first;
  clock.advance(29_999);
  assert.deepEqual(await resolver.resolve('EXAMPLE.com', 'ipv4_only'), ['192.0.2.1']);
  assert.equal(backend.questions.length, 1);
  clock.advance(1);
  const second = resolver.resolve('example.com', 'ipv4_only');
  assert.equal(backend.questions.length, 2);
  backend.of('A').answer(30, '192.0.2.2');
  assert.deepEqual(await second, ['192.0.2.2']);
});

test('only the family that ran out is asked again', async () => {
  const { clock, backend, resolver } = harness();
  const first = resolver.resolve('example.com', 'auto');
  backend.of('A').answer(10, '192.0.2.1');
  backend.of('AAAA').answer(100, '2001:db8::1');
  await first;
  clock.advance(50_000);
  const second = resolver.resolve('example.com', 'auto');
  assert.deepEqual(backend.asked.slice(2), ['A example.com']);
  backend.of('A').answer(10, '192.0.2.9');
  assert.deepEqual(await second, ['2001:db8::1', '192.0.2.9']);
});

test('a TTL is limited to a day, that of an absent name to five minutes', async () => {
  const { clock, backend, resolver } = harness();
  const first = resolver.resolve('example.com', 'ipv4_only');
  backend.of('A').answer(0xffff_ffff, '192.0.2.1');
  await first;
  const absent = resolver.resolve('example.com', 'ipv6_only');
  backend.of('AAAA').answer(86_400);
  await assert.rejects(absent, { code: 'not_found' });
  clock.advance(5 * 60_000);
  void resolver.resolve('example.com', 'ipv6_only').catch(() => undefined);
  assert.equal(backend.questions.length, 3);
  clock.advance(24 * 3_600_000 - 5 * 60_000 - 1);
  assert.deepEqual(await resolver.resolve('example.com', 'ipv4_only'), ['192.0.2.1']);
  clock.advance(1);
  void resolver.resolve('example.com', 'ipv4_only').catch(() => undefined);
  assert.equal(backend.questions.length, 4);
});

test('an answer with a TTL of 0 is not kept, but shared by flows that wait', async () => {
  const { backend, resolver } = harness();
  const waiting = [
    resolver.resolve('example.com', 'ipv4_only'),
    resolver.resolve('example.com', 'ipv4_only'),
  ];
  assert.equal(backend.questions.length, 1);
  backend.of('A').answer(0, '192.0.2.1');
  assert.deepEqual(await Promise.all(waiting), [['192.0.2.1'], ['192.0.2.1']]);
  void resolver.resolve('example.com', 'ipv4_only').catch(() => undefined);
  assert.equal(backend.questions.length, 2);
});

test('an absent name is remembered for its TTL', async () => {
  const { clock, backend, resolver } = harness();
  const first = resolver.resolve('absent.example', 'auto');
  backend.of('A').answer(20);
  backend.of('AAAA').answer(20);
  await assert.rejects(first, { code: 'not_found', message: 'absent.example has no address' });
  await assert.rejects(resolver.resolve('absent.example', 'auto'), { code: 'not_found' });
  assert.equal(backend.questions.length, 2);
  clock.advance(20_000);
  void resolver.resolve('absent.example', 'auto').catch(() => undefined);
  assert.equal(backend.questions.length, 4);
});

test('a failure is kept for 5 s', async () => {
  const { clock, backend, resolver } = harness();
  const first = resolver.resolve('example.com', 'ipv4_only');
  backend.of('A').fail(new DialError('upstream', 'the server failed'));
  const failure = { code: 'unresolved', message: 'example.com: the server failed' };
  await assert.rejects(first, failure);
  clock.advance(4999);
  await assert.rejects(resolver.resolve('example.com', 'ipv4_only'), failure);
  assert.equal(backend.questions.length, 1);
  clock.advance(1);
  const second = resolver.resolve('example.com', 'ipv4_only');
  backend.of('A').answer(60, '192.0.2.1');
  assert.deepEqual(await second, ['192.0.2.1']);
});

test('a kept failure keeps nothing of the question alive', async () => {
  const { backend, resolver } = harness();
  const refs: WeakRef<object>[] = [];
  const failure = (): DialError => {
    const state = { what: 'no' };
    refs.push(new WeakRef(state));
    const cause = (): DialError => new DialError('upstream', state.what);
    return cause();
  };
  const found = resolver.resolve('example.com', 'ipv4_only');
  backend.of('A').fail(failure());
  await assert.rejects(found, { message: 'example.com: no' });
  assert.deepEqual(await uncollected(refs), []);
  await assert.rejects(resolver.resolve('example.com', 'ipv4_only'), {
    message: 'example.com: no',
  });
  assert.equal(backend.questions.length, 1);
});

test('kept failures are bounded, and the oldest makes room', async () => {
  const { backend, resolver } = harness();
  const fail = async (name: string): Promise<void> => {
    const before = backend.questions.length;
    const found = resolver.resolve(name, 'ipv4_only');
    if (backend.questions.length > before) backend.of('A').fail(new DialError('upstream', 'no'));
    await assert.rejects(found);
  };
  for (let i = 0; i <= 1024; i++) await fail(`n${i}.example`);
  await fail('n1.example');
  assert.equal(backend.questions.length, 1025);
  await fail('n0.example');
  assert.equal(backend.questions.length, 1026);
});

test('one family that fails does not hide the other', async () => {
  const { backend, resolver } = harness();
  const found = resolver.resolve('example.com', 'auto');
  backend.of('AAAA').fail(new DialError('timed_out', 'no answer'));
  backend.of('A').answer(60, '192.0.2.1');
  assert.deepEqual(await found, ['192.0.2.1']);
});

test('a name is not called absent when only one of two questions was answered', async () => {
  const { backend, resolver } = harness();
  const found = resolver.resolve('example.com', 'auto');
  backend.of('AAAA').fail(new DialError('timed_out', 'no answer'));
  backend.of('A').answer(60);
  await assert.rejects(found, { code: 'timed_out' });
});

test('under auto the late family is given 50 ms, and its answer is kept when it comes', async () => {
  const { clock, backend, resolver } = harness();
  const found = resolver.resolve('example.com', 'auto');
  backend.of('A').answer(60, '192.0.2.1');
  await settled();
  clock.advance(50);
  assert.deepEqual(await found, ['192.0.2.1']);
  backend.of('AAAA').answer(60, '2001:db8::1');
  await settled();
  assert.deepEqual(await resolver.resolve('example.com', 'auto'), ['2001:db8::1', '192.0.2.1']);
  assert.equal(backend.questions.length, 2);
});

test('a preference waits longer for the family that it prefers', async () => {
  const { clock, backend, resolver } = harness();
  const found = resolver.resolve('example.com', 'prefer_ipv6');
  backend.of('A').answer(60, '192.0.2.1');
  await settled();
  clock.advance(1999);
  backend.of('AAAA').answer(60, '2001:db8::1');
  assert.deepEqual(await found, ['2001:db8::1', '192.0.2.1']);
  const late = resolver.resolve('late.example', 'prefer_ipv6');
  backend.of('A').answer(60, '192.0.2.2');
  await settled();
  clock.advance(2000);
  assert.deepEqual(await late, ['192.0.2.2']);
});

test('identical questions are asked once, and an aborted wait does not affect the others', async () => {
  const { backend, resolver } = harness();
  const controller = new AbortController();
  const impatient = resolver.resolve('example.com', 'ipv4_only', controller.signal);
  const patient = resolver.resolve('example.com', 'ipv4_only', new AbortController().signal);
  controller.abort(new Error('the client went away'));
  await assert.rejects(impatient, { code: 'aborted' });
  assert.equal(backend.questions.length, 1);
  assert.equal(backend.of('A').signal.aborted, false);
  backend.of('A').answer(60, '192.0.2.1');
  assert.deepEqual(await patient, ['192.0.2.1']);
});

test('a question that no client waits for any longer is dropped', async () => {
  const { clock, backend, resolver } = harness();
  const [one, other] = [new AbortController(), new AbortController()];
  const first = resolver.resolve('a.example', 'auto', one.signal);
  const second = resolver.resolve('a.example', 'auto', other.signal);
  one.abort(new Error('the client went away'));
  await assert.rejects(first, { code: 'aborted' });
  assert.deepEqual(
    backend.questions.map(({ signal }) => signal.aborted),
    [false, false],
  );
  other.abort(new Error('the client went away'));
  await assert.rejects(second, { code: 'aborted' });
  assert.deepEqual(
    backend.questions.map(({ signal }) => signal.aborted),
    [true, true],
  );
  assert.equal(clock.timers, 0);
  // That it was dropped is no failure of the name.
  const found = resolver.resolve('a.example', 'ipv4_only');
  backend.of('A').answer(60, '192.0.2.1');
  assert.deepEqual(await found, ['192.0.2.1']);
});

/** Asks for addresses; a failure is a result. */
function asking(resolver: CachedResolver) {
  const { signal } = new AbortController();
  return (name: string, client?: string): Promise<unknown> =>
    resolver.resolve(name, 'ipv4_only', signal, client).catch((error: unknown) => error);
}

test('one client takes half of the questions at most, and others find room', async () => {
  const { clock, backend, resolver } = harness();
  const ask = asking(resolver);
  const pending = (): number => backend.questions.filter(({ signal }) => !signal.aborted).length;
  for (let i = 0; i < 1500; i++) void ask(`n${i}.example`, '192.0.2.66');
  assert.equal(pending(), 1024);
  void ask('healthy.example', '192.0.2.1');
  void ask('server.example');
  assert.equal(pending(), 1026);
  clock.advance(5_000);
  // Then no place is free, and the client that has the most gives way.
  for (let i = 0; i < 1500; i++) void ask(`m${i}.example`, `192.0.${3 + (i >> 8)}.${i & 255}`);
  assert.equal(pending(), 2048);
  const found = ask('late.example', '192.0.2.2');
  assert.equal(pending(), 2048);
  backend.of('A').answer(60, '192.0.2.7');
  assert.deepEqual(await found, ['192.0.2.7']);
});

test('names without an answer keep no other name of their client from being resolved', async () => {
  const { backend, resolver } = harness();
  const ask = asking(resolver);
  const first = ask('first.example', '192.0.2.66');
  for (let i = 0; i < 1500; i++) void ask(`n${i}.example`, '192.0.2.66');
  assert.match(String(await first), /first\.example: too many names are being resolved/);
  const found = ask('www.example', '192.0.2.66');
  backend.of('A').answer(60, '192.0.2.7');
  assert.deepEqual(await found, ['192.0.2.7']);
  // What gave way did not fail: it is asked anew.
  const again = ask('first.example', '192.0.2.66');
  backend.of('A').answer(60, '192.0.2.8');
  assert.deepEqual(await again, ['192.0.2.8']);
});

test('questions in the place of others are limited a second, and are refused beyond', async () => {
  const { clock, backend, resolver } = harness();
  const ask = asking(resolver);
  for (let i = 0; i < 1024 + DISPLACED_A_SECOND; i++) void ask(`n${i}.example`, '192.0.2.66');
  assert.match(String(await ask('one-more.example', '192.0.2.66')), /too many names/);
  assert.equal(backend.questions.length, 1024 + DISPLACED_A_SECOND);
  clock.advance(1_000);
  void ask('one-more.example', '192.0.2.66');
  assert.equal(backend.of('A').name, 'one-more.example');
});

test('an aborted caller asks nothing, but is given what is known', async () => {
  const { backend, resolver } = harness();
  const signal = AbortSignal.abort(new DeadlineError('dialling took longer than 10 s'));
  await assert.rejects(resolver.resolve('example.com', 'auto', signal), { code: 'timed_out' });
  assert.equal(backend.questions.length, 0);
});

test('a backend that never answers is given up after 10 s', async () => {
  const { clock, backend, resolver } = harness();
  const found = resolver.resolve('example.com', 'ipv4_only');
  clock.advance(10_000);
  await assert.rejects(found, {
    code: 'timed_out',
    message: 'example.com: resolving the name took longer than 10 s',
  });
  assert.equal(backend.of('A').signal.aborted, true);
  clock.advance(5000);
  const again = resolver.resolve('example.com', 'ipv4_only');
  backend.of('A').answer(60, '192.0.2.1');
  assert.deepEqual(await again, ['192.0.2.1']);
  assert.equal(clock.timers, 0);
});

test('an address in text is its own answer, whatever the policy for names', async () => {
  const { backend, resolver } = harness();
  assert.deepEqual(await resolver.resolve('192.0.2.1', 'auto'), ['192.0.2.1']);
  assert.deepEqual(await resolver.resolve('::1', 'prefer_ipv4'), ['::1']);
  assert.deepEqual(await resolver.resolve('::ffff:192.0.2.1', 'ipv4_only'), ['192.0.2.1']);
  assert.deepEqual(await resolver.resolve('192.0.2.1', 'ipv6_only'), ['192.0.2.1']);
  assert.deepEqual(await resolver.resolve('::1', 'ipv4_only'), ['::1']);
  assert.equal(backend.questions.length, 0);
});

test('text that C libraries read as an address is that address', async () => {
  const { backend, resolver } = harness();
  assert.deepEqual(await resolver.resolve('127.1', 'auto'), ['127.0.0.1']);
  assert.deepEqual(await resolver.resolve('0x7f000001.', 'auto'), ['127.0.0.1']);
  assert.equal(backend.questions.length, 0);
});

test('localhost is this machine without a question', async () => {
  const { backend, resolver } = harness();
  assert.deepEqual(await resolver.resolve('localhost', 'auto'), ['::1', '127.0.0.1']);
  assert.deepEqual(await resolver.resolve('db.localhost.', 'ipv4_only'), ['127.0.0.1']);
  assert.equal(backend.questions.length, 0);
});

test('text that is not a host name is never asked', async () => {
  const { backend, resolver } = harness();
  await assert.rejects(resolver.resolve('bad name\r\n', 'auto'), {
    code: 'not_found',
    message: '"bad name\\r\\n" is not a host name',
  });
  assert.equal(backend.questions.length, 0);
});

test('the cache is bounded and forgets the name that was used longest ago', async () => {
  const { backend, resolver } = harness();
  const ask = async (name: string): Promise<void> => {
    const before = backend.questions.length;
    const found = resolver.resolve(name, 'ipv4_only');
    if (backend.questions.length > before) backend.of('A').answer(60, '192.0.2.1');
    await found;
  };
  for (let i = 0; i < 4096; i++) await ask(`n${i}.example`);
  await ask('n0.example');
  await ask('one-more.example');
  assert.equal(backend.questions.length, 4097);
  await ask('n0.example');
  assert.equal(backend.questions.length, 4097);
  await ask('n1.example');
  assert.equal(backend.questions.length, 4098);
});

test('questions under way are bounded', async () => {
  const { backend, resolver } = harness();
  const waiting: Promise<unknown>[] = [];
  for (let i = 0; i < 2048; i++) {
    waiting.push(resolver.resolve(`n${i}.example`, 'ipv4_only').catch(() => undefined));
  }
  await assert.rejects(resolver.resolve('one-more.example', 'ipv4_only'), {
    code: 'unresolved',
  });
  for (const question of backend.questions) question.answer(0, '192.0.2.1');
  await Promise.all(waiting);
  const found = resolver.resolve('one-more.example', 'ipv4_only');
  backend.of('A').answer(0, '192.0.2.1');
  assert.deepEqual(await found, ['192.0.2.1']);
});

test('a lookup says how long its answer may be kept, and whether the name exists', async () => {
  const { clock, backend, resolver } = harness();
  const found = resolver.lookup('www.example', 'A');
  backend.of('A').answer(60, '192.0.2.1');
  assert.deepEqual(await found, { addresses: ['192.0.2.1'], absent: false, ttl: 60 });
  clock.advance(20_000);
  assert.deepEqual(await resolver.lookup('www.example', 'A'), {
    addresses: ['192.0.2.1'],
    absent: false,
    ttl: 40,
  });
  const missing = resolver.lookup('none.example', 'AAAA');
  backend.of('AAAA').deny(30);
  assert.deepEqual(await missing, { addresses: [], absent: true, ttl: 30 });
  assert.equal(backend.questions.length, 2);
});

test('a lookup has every address and the aliases, and a flow the first 16', async () => {
  const { backend, resolver } = harness();
  const all = Array.from({ length: 40 }, (_, index) => `192.0.2.${index}`);
  const found = resolver.lookup('www.example', 'A');
  backend.of('A').answer(60, ...all);
  assert.deepEqual((await found).addresses, all);
  assert.deepEqual(await resolver.resolve('www.example', 'ipv4_only'), all.slice(0, 16));
  assert.deepEqual((await resolver.lookup('www.example', 'A')).addresses, all);
  assert.equal(backend.questions.length, 1);
});

test('the cache is bounded by the addresses of its names', async () => {
  const { backend, resolver } = harness();
  const all = Array.from({ length: 4000 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
  for (let index = 0; index < 40; index++) {
    const found = resolver.lookup(`n${index}.example`, 'A');
    backend.of('A').answer(60, ...all);
    await found;
  }
  await resolver.lookup('n39.example', 'A');
  assert.equal(backend.questions.length, 40);
  const first = resolver.lookup('n0.example', 'A');
  assert.equal(backend.questions.length, 41);
  backend.of('A').answer(60, '192.0.2.1');
  await first;
});

test('a lookup shares the question of a flow, and leaves it when it is aborted', async () => {
  const { backend, resolver } = harness();
  const aborted = new AbortController();
  const found = resolver.resolve('www.example', 'ipv4_only');
  const lost = resolver.lookup('www.example', 'A', aborted.signal);
  assert.deepEqual(backend.asked, ['A www.example']);
  aborted.abort(new DialError('aborted', 'left'));
  await assert.rejects(lost, { code: 'aborted' });
  backend.of('A').answer(60, '192.0.2.1');
  assert.deepEqual(await found, ['192.0.2.1']);
  const alone = new AbortController();
  const left = resolver.lookup('other.example', 'A', alone.signal);
  alone.abort(new DialError('aborted', 'left'));
  await assert.rejects(left, { code: 'aborted' });
  assert.ok(backend.of('A').signal.aborted);
});

test('localhost is never asked for', async () => {
  const { backend, resolver } = harness();
  assert.deepEqual((await resolver.lookup('localhost', 'AAAA')).addresses, ['::1']);
  assert.deepEqual(backend.asked, []);
});

test('questions that are passed on are bounded in number and time, and delay the close', async () => {
  const { clock, backend, resolver } = harness();
  const question = { bytes: Buffer.from([0, 0, 16, 0, 1]) };
  const first = resolver.forward(question);
  const rest = Array.from({ length: 511 }, () => resolver.forward(question));
  const last = resolver.forward(question);
  await assert.rejects(first, { code: 'failed' });
  backend.passedOn[512]?.answer(Buffer.from('reply'));
  assert.equal((await last).toString(), 'reply');
  resolver.close();
  assert.equal(backend.closings, 0);
  clock.advance(10_000);
  for (const each of await Promise.allSettled(rest)) assert.equal(each.status, 'rejected');
  assert.equal(backend.closings, 1);
  assert.equal(clock.timers, 0);
});

test('questions without an answer are passed on beside those of all others', async () => {
  const { backend, resolver } = harness();
  const question = { bytes: Buffer.from([0, 0, 16, 0, 1]) };
  const ask = (client: string): Promise<Buffer> => resolver.forward(question, undefined, client);
  const other = ask('192.0.2.1');
  const flood = Array.from({ length: 1000 }, () => ask('192.0.2.66').catch(() => undefined));
  const same = ask('192.0.2.66');
  assert.equal(backend.passedOn.filter(({ signal }) => !signal.aborted).length, 512);
  for (const { signal, answer } of backend.passedOn) {
    if (!signal.aborted) answer(Buffer.from('reply'));
  }
  assert.equal(String(await other), 'reply');
  assert.equal(String(await same), 'reply');
  assert.equal((await Promise.all(flood)).filter((reply) => reply !== undefined).length, 510);
});

for (const outcome of ['is found', 'is absent'] as const) {
  test(`flows that wait for one name go on in turns when it ${outcome}`, async () => {
    const { backend, resolver } = harness();
    const COUNT = 4 * FLOWS_RESUMED_A_TURN;
    let over = 0;
    for (let flow = 0; flow < COUNT; flow++) {
      const found = resolver.resolve('example.com', 'ipv4_only');
      void found.catch(() => undefined).then(() => over++);
    }
    assert.equal(backend.questions.length, 1);
    if (outcome === 'is found') backend.of('A').answer(60, '192.0.2.1');
    else backend.of('A').deny(60);
    let turns = 0;
    for (; over < COUNT; turns++) await settled();
    assert.ok(turns >= COUNT / FLOWS_RESUMED_A_TURN - 2, `${turns} turns`);
  });
}
