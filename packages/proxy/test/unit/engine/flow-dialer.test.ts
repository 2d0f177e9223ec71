import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Logger, silentLogger } from '@weir/base/log';
import type { Endpoint } from '@weir/io/addresses';
import { abortedDial, DialError } from '@weir/io';
import { type ByteLink, linkPair } from '@weir/io/links';
import { descriptorHolders } from '@weir/io/sockets';
import { DIAL_MS } from '@weir/io/time';
import { FlowDialer, MOST_OPENING_OF_SOURCE } from '../../../src/engine/flow-dialer.ts';
import { OutboundVersion } from '../../../src/engine/routing-snapshot.ts';
import type { RouteQuery } from '../../../src/engine/router/query.ts';
import type { DialOptions, Origin } from '../../../src/protocols/contract.ts';
import { Accounts, NO_ACCOUNTS } from '../../../src/protocols/users/accounts.ts';
import { FlowOutcomes } from '../../../src/tracker/flow-outcomes.ts';
import { Tracker } from '../../../src/tracker/tracker.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import { logLines } from '../../../../../test/support/engine/log-lines.ts';

const origin: Origin = { inbound: 'tun', source: '10.0.0.9', user: undefined, session: undefined };
const query: RouteQuery = {
  inbound: 'tun',
  source: '10.0.0.9',
  network: 'tcp',
  host: '192.0.2.1',
  port: 80,
  sniffed: undefined,
};

function start(
  connect: (to: Endpoint, options: DialOptions) => Promise<ByteLink>,
  log: Logger = silentLogger,
) {
  const clock = new ManualClock();
  const version = new OutboundVersion('out', 1, {
    connect,
    associate: () => Promise.reject(new DialError('unsupported', 'no datagrams here')),
    close: () => undefined,
  });
  const outcomes = new FlowOutcomes(0);
  const dialer = new FlowDialer({
    outcomes,
    limits: { refusalOf: () => undefined },
    clock,
    log,
    target: () => undefined,
    resolver: version.outbound,
    snapshot: () => ({
      epoch: 7,
      routes: { route: () => ({ outbound: 'out', rule: 2 }), needsDomain: () => false },
      targets: new Map([['out', { pick: () => version }]]),
    }),
  });
  return { clock, version, dialer, outcomes };
}

test('a stream is routed and dialled without a client to accept', async () => {
  const [near, far] = linkPair();
  const { clock, version, dialer } = start(() => Promise.resolve(near));
  const flow = await dialer.connect(query, origin);
  assert.equal(flow.link, near);
  assert.deepEqual(flow.resolved, { version, rule: 2, epoch: 7, group: undefined });
  assert.equal(version.users, 1);
  assert.equal(clock.timers, 0);
  flow[Symbol.dispose]();
  await far.closed;
});

test('a dialled flow holds its version until it is disposed of, however often', async () => {
  const [near] = linkPair();
  const { version, dialer } = start(() => Promise.resolve(near));
  const [first, second] = [
    await dialer.connect(query, origin),
    await dialer.connect(query, origin),
  ];
  assert.equal(version.users, 2);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  assert.equal(version.users, 1);
  second[Symbol.dispose]();
  assert.equal(version.users, 0);
});

test('a flow that is over holds its descriptor for as long as its link has one', async () => {
  const [near] = linkPair();
  // A link whose reset waits until a slow peer has what was written.
  const closed = Promise.withResolvers<undefined>();
  const { dialer } = start(() => Promise.resolve(Object.assign(near, { closed: closed.promise })));
  const before = descriptorHolders.size;
  const flow = await dialer.connect(query, origin);
  flow[Symbol.dispose]();
  await nextTurn();
  assert.equal(descriptorHolders.size, before + 1);
  closed.resolve(undefined);
  await nextTurn();
  assert.equal(descriptorHolders.size, before);
});

test('a dial that fails holds nothing, for streams and for datagrams', async () => {
  const { clock, version, dialer } = start(() =>
    Promise.reject(new DialError('refused', 'connection refused')),
  );
  await assert.rejects(dialer.connect(query, origin), { code: 'refused' });
  using deadline = dialer.limit();
  const resolved = { version, rule: undefined, epoch: 7 };
  await assert.rejects(dialer.associate(resolved, query, origin, deadline), {
    code: 'unsupported',
  });
  assert.equal(version.users, 0);
  deadline[Symbol.dispose]();
  assert.equal(clock.timers, 0);
});

const untilAborted =
  (reasonOf: (signal: AbortSignal) => Error) =>
  (_: Endpoint, { signal }: DialOptions): Promise<ByteLink> => {
    const { promise, reject } = Promise.withResolvers<ByteLink>();
    signal.addEventListener('abort', () => reject(reasonOf(signal)));
    return promise;
  };

test('a dial that takes too long is reported with what the outbound waited for', async () => {
  const server = { host: 'hy.example', port: 443 };
  const { clock, dialer } = start(untilAborted((signal) => abortedDial(signal, server)));
  const dialled = dialer.connect(query, origin);
  clock.advance(DIAL_MS);
  await assert.rejects(dialled, {
    code: 'timed_out',
    message: 'hy.example:443: the dial took longer than 10 s',
  });
});

test('a dial that takes too long has timed out, whatever error that has caused', async () => {
  for (const caused of [new Error('closed'), new DialError('upstream', 'closed')]) {
    const { clock, dialer } = start(untilAborted(() => caused));
    const dialled = dialer.connect(query, origin);
    clock.advance(DIAL_MS);
    await assert.rejects(dialled, {
      code: 'timed_out',
      message: '192.0.2.1:80: the dial took longer than 10 s',
    });
  }
});

test('a dial without a response in time is a line with the rule', async () => {
  const { log, lines } = logLines('debug');
  const { clock, dialer } = start(untilAborted(abortedDial), log);
  const failed = assert.rejects(dialer.connect(query, origin), { code: 'timed_out' });
  clock.advance(DIAL_MS);
  await failed;
  assert.deepEqual(lines, [
    'INFO tun -> tcp 192.0.2.1:80 by out: the dial took longer than 10 s (rule 2)',
  ]);
});

for (const [after, level, what] of [
  [1_999, 'DEBUG', 'is for debugging while the dial is young'],
  [2_000, 'INFO', 'is a line when it has waited for two seconds'],
] as const) {
  test(`a client that leaves during a dial ${what}`, async () => {
    const { log, lines } = logLines('debug');
    const { clock, dialer } = start(untilAborted(abortedDial), log);
    const [client, near] = linkPair();
    const failed = assert.rejects(dialer.connect(query, origin, { client: near }), {
      code: 'aborted',
    });
    clock.advance(after);
    client.destroy(new Error('reset'));
    await failed;
    const cause = level === 'INFO' ? 'no connection was made before the client left' : 'left';
    assert.equal(lines.length, 1);
    const [line = ''] = lines;
    assert.ok(line.startsWith(`${level} tun -> tcp 192.0.2.1:80 by out: `), line);
    assert.ok(line.includes(cause), line);
  });
}

test('a stop is no failure of the dials that it ends', async () => {
  const { log, lines } = logLines('info');
  const { clock, dialer } = start(untilAborted(abortedDial), log);
  const failed = assert.rejects(dialer.connect(query, origin), { code: 'aborted' });
  clock.advance(5_000);
  dialer.stop();
  await failed;
  assert.deepEqual(lines, []);
});

test('once new flows are refused, a dial under way goes on, and nothing else is dialled', async () => {
  const { promise, resolve } = Promise.withResolvers<ByteLink>();
  let dials = 0;
  const { version, dialer } = start(() => {
    dials++;
    return promise;
  });
  const underWay = dialer.connect(query, origin);
  dialer.refuseNew();
  const refusal = { code: 'aborted', message: 'the proxy is stopping' };
  await assert.rejects(dialer.connect(query, origin), refusal);
  await assert.rejects(dialer.connect(query, origin, { toResolver: true }), refusal);
  using limit = dialer.limit();
  const resolved = { version, rule: undefined, epoch: 7 };
  const opener = { host: '192.0.2.1', port: 53 };
  await assert.rejects(dialer.associate(resolved, opener, origin, limit), refusal);
  const [link] = linkPair();
  resolve(link);
  assert.equal((await underWay).link, link);
  assert.equal(dials, 1);
});

test('once new flows are refused, a connection that was accepted before begins its first one alone', async () => {
  const [link] = linkPair();
  const { dialer } = start(() => Promise.resolve(link));
  const session = new Tracker(new ManualClock()).openSession('in', undefined, {
    bytesRead: 0,
    bytesWritten: 0,
  });
  session.isFresh = true;
  dialer.refuseNew();
  using flow = await dialer.connect(query, { ...origin, session });
  assert.equal(flow.link, link);
  await assert.rejects(dialer.connect(query, { ...origin, session }), { code: 'aborted' });
  session.isFresh = true;
  dialer.stop();
  await assert.rejects(dialer.connect(query, { ...origin, session }), { code: 'aborted' });
});

test('flows that are not opened are counted by rule and outbound, unless their client has gone', async () => {
  const codes = ['blocked', 'refused', 'timed_out', 'aborted'] as const;
  let at = 0;
  const { clock, version, dialer, outcomes } = start(() =>
    Promise.reject(new DialError(codes[at++] ?? 'failed', 'no')),
  );
  clock.advance(5);
  for (const code of codes) await assert.rejects(dialer.connect(query, origin), { code });
  const accounts = new Accounts();
  const removed = {
    ...origin,
    account: accounts.validityOf({ label: undefined, credential: 'gone' }),
  };
  accounts.replace(NO_ACCOUNTS);
  await assert.rejects(dialer.connect(query, removed));
  // A question to the proxy's own resolver.
  await assert.rejects(dialer.connect(query, origin, { toResolver: true }));
  const counts = () => [...outcomes.rules()];
  assert.deepEqual(counts(), [[2, { opened: 0, blocked: 1, failed: 2, lastAt: 5 }]]);
  using limit = dialer.limit();
  await assert.rejects(
    dialer.associate({ version, rule: undefined, epoch: 7 }, query, origin, limit),
    { code: 'unsupported' },
  );
  assert.deepEqual(counts()[1], [undefined, { opened: 0, blocked: 0, failed: 1, lastAt: 5 }]);
  assert.deepEqual([outcomes.blocked, outcomes.failed], [1, 3]);
  assert.deepEqual([...outcomes.failedDials], [['out', 3]]);
});

test('associations of one source that wait for their outbound are limited; others and connections are not', async () => {
  const [near] = linkPair();
  const { dialer } = start(() => Promise.resolve(near));
  const opened = Promise.withResolvers<never>();
  const version = new OutboundVersion('out', 1, {
    connect: () => Promise.resolve(near),
    associate: () => opened.promise,
    close: () => undefined,
  });
  const resolved = { version, rule: undefined, epoch: 7 };
  const associate = (from: Origin): Promise<unknown> =>
    dialer.associate(resolved, query, from, dialer.limit());
  const waiting = Array.from({ length: MOST_OPENING_OF_SOURCE }, () => associate(origin));
  await assert.rejects(associate(origin), { code: 'failed', message: /too many/ });
  waiting.push(associate({ ...origin, source: '10.0.0.8' }));
  assert.equal(version.users, MOST_OPENING_OF_SOURCE + 1);
  using flow = await dialer.connect(query, origin);
  assert.equal(flow.link, near);
  opened.reject(new DialError('refused', 'refused'));
  for (const each of waiting) await assert.rejects(each, { code: 'refused' });
  await assert.rejects(associate(origin), { code: 'refused' });
});
