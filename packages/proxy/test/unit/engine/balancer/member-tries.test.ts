import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as settle } from 'node:timers/promises';
import { DialError, type DialErrorCode } from '@weir/io';
import { linkPair } from '@weir/io/links';
import { abortReason, DIAL_MS } from '@weir/io/time';
import { FlowDialer } from '../../../../src/engine/flow-dialer.ts';
import { type TargetGroup, OutboundVersion } from '../../../../src/engine/routing-snapshot.ts';
import type { RouteQuery } from '../../../../src/engine/router/query.ts';
import type { DialOptions, Origin } from '../../../../src/protocols/contract.ts';
import { logLines } from '../../../../../../test/support/engine/log-lines.ts';
import { FlowOutcomes } from '../../../../src/tracker/flow-outcomes.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

const origin: Origin = { inbound: 'in', source: undefined, user: undefined, session: undefined };
const query: RouteQuery = {
  inbound: 'in',
  source: undefined,
  network: 'tcp',
  host: 'a.example',
  port: 80,
  sniffed: undefined,
};

/** How a member's server takes part in a dial; resolves to have served it. */
type Script = (options: DialOptions) => Promise<void>;

const served: Script = async ({ reach }) => {
  reach?.trying();
  reach?.reached();
};
const missed =
  (code: DialErrorCode, cause?: Error): Script =>
  async ({ reach }) => {
    reach?.trying();
    throw new DialError(code, 'server:1: connection refused', { cause });
  };
const reported =
  (code: DialErrorCode): Script =>
  async ({ reach }) => {
    reach?.trying();
    reach?.reached();
    throw new DialError(code, 'a.example:80: not by this server');
  };
const untilAborted = ({ signal }: DialOptions): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(abortReason(signal)));
  });
const silent: Script = ({ reach, ...options }) => {
  reach?.trying();
  return untilAborted(options);
};
const silentDestination: Script = ({ reach, ...options }) => {
  reach?.trying();
  reach?.reached();
  return untilAborted(options);
};

/** A dialer whose only route is a group of members with these scripts. */
function start(scripts: readonly Script[], isFailover = true) {
  const clock = new ManualClock();
  const told: string[] = [];
  const dialled: string[] = [];
  const versions = scripts.map((script, i) => {
    const tag = `m${i}`;
    const open = async <T>(link: T, options: DialOptions): Promise<T> => {
      dialled.push(tag);
      await script(options);
      return link;
    };
    return new OutboundVersion(tag, 1, {
      connect: (_, options) => open(linkPair()[0], options),
      associate: (options) => open({ close: () => undefined } as never, options),
      close: () => undefined,
    });
  });
  const [first] = versions;
  assert.ok(first);
  const group: TargetGroup = {
    tag: 'group',
    next: (tried) => (isFailover ? versions.find((version) => !tried.has(version)) : undefined),
    missed: ({ tag }) => told.push(`missed ${tag}`),
    reached: ({ tag }) => told.push(`reached ${tag}`),
  };
  const { log, lines } = logLines('info');
  const outcomes = new FlowOutcomes(0);
  const dialer = new FlowDialer({
    outcomes,
    limits: { refusalOf: () => undefined },
    clock,
    log,
    target: () => undefined,
    resolver: first.outbound,
    snapshot: () => ({
      epoch: 7,
      routes: { route: () => ({ outbound: 'group', rule: 2 }), needsDomain: () => false },
      targets: new Map([['group', { pick: () => first, group }]]),
    }),
  });
  return { clock, dialer, dialled, group, lines, told, versions, first, outcomes };
}

describe('a dial through a failover group', () => {
  test('goes on by the next member when a server is not reached, and the flow is that one', async () => {
    const { clock, dialer, lines, told, versions, outcomes } = start([
      missed('refused'),
      missed('upstream'),
      served,
    ]);
    using flow = await dialer.connect(query, origin);
    assert.equal(flow.resolved.version.tag, 'm2');
    assert.equal(flow.resolved.rule, 2);
    assert.deepEqual(told, ['missed m0', 'missed m1', 'reached m2']);
    assert.deepEqual(
      [...outcomes.failedDials],
      [
        ['m0', 1],
        ['m1', 1],
      ],
    );
    assert.equal(outcomes.failed, 0, 'the flow itself was opened');
    assert.deepEqual(
      versions.map(({ users }) => users),
      [0, 0, 1],
    );
    assert.equal(clock.timers, 0);
    assert.deepEqual(lines, [
      'INFO balancer group: outbound m0 was not reached: server:1: connection refused; the flow goes on by m1',
      'INFO balancer group: outbound m1 was not reached: server:1: connection refused; the flow goes on by m2',
    ]);
  });

  test('does so for datagrams, also when the server refuses these', async () => {
    for (const script of [missed('refused'), reported('upstream'), reported('refused')]) {
      const { dialer, first, group, told } = start([script, served]);
      using limit = dialer.limit();
      const route = { version: first, rule: undefined, epoch: 7, group };
      using flow = await dialer.associate(route, query, origin, limit);
      assert.equal(flow.resolved.version.tag, 'm1');
      assert.deepEqual(told, ['missed m0', 'reached m1']);
    }
  });

  const final: readonly (readonly [string, Script, DialErrorCode])[] = [
    ['a server that reports a refusal', reported('refused'), 'refused'],
    ['a server that reports an unknown name', reported('not_found'), 'not_found'],
    ['a server that gives no reason', reported('upstream'), 'upstream'],
    ['a server that is this proxy', missed('loop'), 'loop'],
    ['a client that may not', missed('forbidden'), 'forbidden'],
    ['a rule', missed('blocked'), 'blocked'],
    [
      'a process without descriptors',
      missed('failed', Object.assign(new Error('EMFILE'), { code: 'EMFILE' })),
      'failed',
    ],
    [
      'a name that does not fit',
      () => Promise.reject(new DialError('failed', 'the host name does not fit')),
      'failed',
    ],
  ];
  for (const [what, script, code] of final) {
    test(`ends with what ${what} says, and blames no member`, async () => {
      const { dialer, dialled, told } = start([script, served]);
      await assert.rejects(dialer.connect(query, origin), { code });
      assert.deepEqual(dialled, ['m0']);
      assert.deepEqual(told, []);
    });
  }

  test('gives a silent server half of the time, while there is another', async () => {
    const { clock, dialer, dialled, told, lines } = start([silent, silent, served]);
    const flow = dialer.connect(query, origin);
    clock.advance(DIAL_MS / 2 - 1);
    await settle();
    assert.deepEqual(dialled, ['m0']);
    clock.advance(1);
    await settle();
    assert.deepEqual(dialled, ['m0', 'm1']);
    clock.advance(DIAL_MS / 4);
    using dialledFlow = await flow;
    assert.equal(dialledFlow.resolved.version.tag, 'm2');
    assert.deepEqual(told, ['missed m0', 'missed m1', 'reached m2']);
    assert.match(lines[0] ?? '', /m0 was not reached: no connection to the server within 5 s; /);
    assert.equal(clock.timers, 0);
  });

  test('ends after its own limit, however many servers are silent', async () => {
    const { clock, dialer, dialled, told } = start([silent, silent]);
    const rejected = assert.rejects(dialer.connect(query, origin), { code: 'timed_out' });
    clock.advance(DIAL_MS / 2);
    await settle();
    clock.advance(DIAL_MS / 2);
    await rejected;
    assert.deepEqual(dialled, ['m0', 'm1']);
    assert.deepEqual(told, ['missed m0', 'missed m1']);
    assert.equal(clock.timers, 0);
  });

  test('leaves a silent destination all of the time', async () => {
    const { clock, dialer, dialled, told } = start([silentDestination, served]);
    const rejected = assert.rejects(dialer.connect(query, origin), { code: 'timed_out' });
    clock.advance(DIAL_MS - 1);
    await settle();
    clock.advance(1);
    await rejected;
    assert.deepEqual(dialled, ['m0']);
    assert.deepEqual(told, []);
  });

  test('ends with the last failure when no server is reached', async () => {
    const { dialer, lines, told, versions } = start([missed('refused'), missed('timed_out')]);
    await assert.rejects(dialer.connect(query, origin), { code: 'timed_out' });
    assert.deepEqual(told, ['missed m0', 'missed m1']);
    assert.match(lines.at(-1) ?? '', /^INFO in -> tcp a\.example:80 by m1: /);
    assert.ok(versions.every(({ users }) => users === 0));
  });

  test('goes on for no client that has left, and blames a server that was silent for long', async () => {
    for (const [ms, expected] of [
      [1_999, []],
      [2_000, ['missed m0']],
    ] as const) {
      const { clock, dialer, dialled, told } = start([silent, served]);
      const [client, far] = linkPair();
      const rejected = assert.rejects(dialer.connect(query, origin, { client }), {
        code: 'aborted',
      });
      clock.advance(ms);
      far.destroy(new Error('left'));
      await rejected;
      assert.deepEqual(dialled, ['m0']);
      assert.deepEqual(told, expected);
    }
  });

  test('writes one line for any number of flows', async () => {
    const { dialer, lines } = start([missed('refused'), served]);
    for (let i = 0; i < 100; i++) {
      using _flow = await dialer.connect({ ...query, host: `h${i}.example` }, origin);
    }
    assert.equal(lines.length, 1);
  });
});

test('a dial through a round robin group reports a server that it misses, and tries no other', async () => {
  const { dialer, dialled, told } = start([missed('refused'), served], false);
  await assert.rejects(dialer.connect(query, origin), { code: 'refused' });
  assert.deepEqual(dialled, ['m0']);
  assert.deepEqual(told, ['missed m0']);
});
