import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { atOnce, type Steps } from '@weir/io/time';
import { planReload, reportOf } from '../../../src/supervisor/plan.ts';
import { inboundFacts } from '../../../src/supervisor/inbound-listener.ts';
import type { AppliedReport } from '../../../src/supervisor/reload-report.ts';
import type { InboundSpec, Spec } from '@weir/proxy/spec';
import {
  balancerSpec,
  inboundSpec,
  outboundSpec,
  routeSpec,
  ruleSpec,
  spec,
  upstreamSpec,
  wantedOf,
} from '../../../../../test/support/data/specs.ts';

const withPassword = (pass: string) => ({
  settings: {
    auth: 'password',
    accounts: [{ user: 'ann', pass }],
    udp: true,
    udpBind: undefined,
  },
});

const base = spec({
  inbounds: [inboundSpec('open'), inboundSpec('closed', withPassword('one'))],
  outbounds: [outboundSpec('direct'), upstreamSpec('a'), upstreamSpec('b')],
  balancers: [balancerSpec('group', ['a'])],
  route: routeSpec({ rules: [ruleSpec('group', { domainSuffix: ['example.com'] })] }),
});

const EVERYTHING = [
  'dns',
  'outbound direct@v1',
  'outbound a@v1',
  'outbound b@v1',
  'balancer group',
  'route',
  'user set closed',
  'inbound open',
  'inbound closed',
];

const without = (...names: string[]): string[] =>
  EVERYTHING.filter((name) => !names.includes(name));

interface Row {
  readonly change: string;
  readonly wanted: Spec;
  readonly report: Partial<Omit<AppliedReport, 'status'>>;
}

const replaceOutbound = (tag: string, port: number): Spec['outbounds'] =>
  base.outbounds.map((outbound) => (outbound.tag === tag ? upstreamSpec(tag, port) : outbound));

const ROWS: readonly Row[] = [
  { change: 'nothing', wanted: structuredClone(base), report: { reused: EVERYTHING } },
  {
    change: 'the log level alone, which is read once at start',
    wanted: { ...base, log: { level: 'debug' } },
    report: { reused: EVERYTHING },
  },
  {
    change: 'name resolution: outbounds go on with it',
    wanted: { ...base, dns: { backend: 'udp', server: { host: '127.0.0.1', port: 53 } } },
    report: { built: ['dns'], reused: without('dns') },
  },
  {
    change: 'the target of a rule',
    wanted: {
      ...base,
      route: routeSpec({ rules: [ruleSpec('b', { domainSuffix: ['example.com'] })] }),
    },
    report: { built: ['route'], reused: without('route') },
  },
  {
    change: 'the default',
    wanted: { ...base, route: { ...base.route, default: 'b' } },
    report: { built: ['route'], reused: without('route') },
  },
  {
    change: 'an outbound that no route names',
    wanted: { ...base, outbounds: replaceOutbound('b', 2) },
    report: { built: ['outbound b@v2'], drained: ['b@v1'], reused: without('outbound b@v1') },
  },
  {
    change: 'an outbound in a balancer: the balancer and the route over it follow',
    wanted: { ...base, outbounds: replaceOutbound('a', 2) },
    report: {
      built: ['outbound a@v2', 'balancer group', 'route'],
      drained: ['a@v1'],
      reused: without('outbound a@v1', 'balancer group', 'route'),
    },
  },
  {
    change: 'an outbound that the route names',
    wanted: {
      ...base,
      outbounds: base.outbounds.map((outbound) =>
        outbound.tag === 'direct' ? { ...outbound, addressFamily: 'ipv4_only' } : outbound,
      ),
    },
    report: {
      built: ['outbound direct@v2', 'route'],
      drained: ['direct@v1'],
      reused: without('outbound direct@v1', 'route'),
    },
  },
  {
    change: 'one more outbound',
    wanted: { ...base, outbounds: [...base.outbounds, upstreamSpec('c')] },
    report: { built: ['outbound c@v1'], reused: EVERYTHING },
  },
  {
    change: 'one outbound less',
    wanted: { ...base, outbounds: base.outbounds.filter(({ tag }) => tag !== 'b') },
    report: { drained: ['b@v1'], reused: without('outbound b@v1') },
  },
  {
    change: 'the order of outbounds',
    wanted: { ...base, outbounds: base.outbounds.toReversed() },
    report: {
      reused: [
        'dns',
        'outbound b@v1',
        'outbound a@v1',
        'outbound direct@v1',
        ...EVERYTHING.slice(4),
      ],
    },
  },
  {
    change: 'the pace of a balancer',
    wanted: { ...base, balancers: [{ ...balancerSpec('group', ['a']), probeInterval: 1 }] },
    report: { built: ['balancer group', 'route'], reused: without('balancer group', 'route') },
  },
  {
    change: 'a balancer that no route names',
    wanted: { ...base, balancers: [...base.balancers, balancerSpec('other', ['b'])] },
    report: { built: ['balancer other'], reused: EVERYTHING },
  },
  {
    change: 'an account: a new user set behind the same listener',
    wanted: {
      ...base,
      inbounds: [inboundSpec('open'), inboundSpec('closed', withPassword('two'))],
    },
    report: {
      built: ['user set closed'],
      swapped: ['closed'],
      reused: without('user set closed', 'inbound closed'),
    },
  },
  {
    change: 'sniffing',
    wanted: {
      ...base,
      inbounds: [
        inboundSpec('open', { sniffing: false }),
        inboundSpec('closed', withPassword('one')),
      ],
    },
    report: { swapped: ['open'], reused: without('inbound open') },
  },
  {
    change: 'the port of an inbound',
    wanted: {
      ...base,
      inbounds: [
        inboundSpec('open', { listen: { kind: 'ip', host: '127.0.0.1', port: 7 } }),
        inboundSpec('closed', withPassword('one')),
      ],
    },
    report: { rebound: ['open'], reused: without('inbound open') },
  },
  {
    change: 'one more inbound',
    wanted: { ...base, inbounds: [...base.inbounds, inboundSpec('new', withPassword('one'))] },
    report: { built: ['user set new', 'inbound new'], reused: EVERYTHING },
  },
  {
    change: 'an inbound less',
    wanted: { ...base, inbounds: [inboundSpec('open')] },
    report: { removed: ['closed'], reused: without('user set closed', 'inbound closed') },
  },
  {
    change: 'another protocol behind the same listener',
    wanted: {
      ...base,
      inbounds: [
        inboundSpec('open', {
          protocol: 'http',
          settings: { accounts: [], allowTransparent: false },
        }),
        inboundSpec('closed', withPassword('one')),
      ],
    },
    report: { swapped: ['open'], reused: without('inbound open') },
  },
];

const NOTHING: Omit<AppliedReport, 'status'> = {
  built: [],
  swapped: [],
  drained: [],
  rebound: [],
  restarted: [],
  removed: [],
  reused: [],
};

const facts = inboundFacts();

describe('a plan', () => {
  const applied = wantedOf(base);

  test('from nothing builds everything, in the order of the report', () => {
    const plan = atOnce(planReload({ applied: undefined, versions: new Map() }, applied, facts));
    assert.deepEqual(atOnce(reportOf(plan)), { status: 'applied', ...NOTHING, built: EVERYTHING });
  });

  const versions = new Map(base.outbounds.map(({ tag }) => [tag, 1]));
  for (const { change, wanted, report } of ROWS) {
    test(`for a change of ${change}`, () => {
      const plan = atOnce(planReload({ applied, versions }, wantedOf(wanted), facts));
      assert.deepEqual(atOnce(reportOf(plan)), { status: 'applied', ...NOTHING, ...report });
    });
  }

  test('an inbound that is to take datagrams too is bound anew at its address', () => {
    const [first, ...rest] = base.inbounds;
    assert.ok(first);
    const wanted = { ...base, inbounds: [{ ...first, protocol: 'http' }, ...rest] };
    const meansOf = ({ protocol }: InboundSpec) => (protocol === 'http' ? 'tcp+udp' : 'tcp');
    const plan = atOnce(planReload({ applied, versions }, wantedOf(wanted), { ...facts, meansOf }));
    assert.deepEqual(atOnce(reportOf(plan)).rebound, [first.tag]);
    const without = atOnce(planReload({ applied, versions }, wantedOf(wanted), facts));
    assert.deepEqual(atOnce(reportOf(without)).swapped, [first.tag]);
  });

  test('an inbound that cannot change under live sessions is restarted, not swapped', () => {
    const [first, ...rest] = base.inbounds;
    assert.ok(first);
    const restartReason = () => 'its device changes';
    const reportOn = (inbound: InboundSpec) => {
      const wanted = { ...base, inbounds: [inbound, ...rest] };
      const steps = planReload({ applied, versions }, wantedOf(wanted, facts), {
        ...facts,
        restartReason,
      });
      return atOnce(reportOf(atOnce(steps)));
    };
    const changed = { ...first, settings: 'other' };
    const { restarted, swapped, rebound } = reportOn(changed);
    assert.deepEqual([restarted, swapped, rebound], [[first.tag], [], []]);
    assert.deepEqual(reportOn({ ...changed, listen: { kind: 'none' } }).rebound, [first.tag]);
  });

  test('a tag that comes back gets the next version', () => {
    const before = { ...base, outbounds: base.outbounds.filter(({ tag }) => tag !== 'b') };
    const plan = atOnce(
      planReload(
        { applied: wantedOf(before), versions: new Map([...versions, ['b', 4]]) },
        applied,
        facts,
      ),
    );
    assert.deepEqual(atOnce(reportOf(plan)).built, ['outbound b@v5']);
  });

  test('the arrays of a report stand in the documented order', () => {
    const plan = atOnce(planReload({ applied, versions }, applied, facts));
    assert.deepEqual(Object.keys(atOnce(reportOf(plan))), [
      'status',
      'built',
      'swapped',
      'drained',
      'rebound',
      'restarted',
      'removed',
      'reused',
    ]);
  });

  test('thousands of resources are compared and reported one in each step', () => {
    const outbounds = Array.from({ length: 1000 }, (_, i) => upstreamSpec(`out${i}`));
    const many = wantedOf({ ...base, outbounds: [...base.outbounds, ...outbounds] });
    const running = { applied: many, versions };
    const count = <T>(steps: Steps<T>): number => {
      let taken = 0;
      while (!steps.next().done) taken++;
      return taken;
    };
    assert.ok(count(planReload(running, many, facts)) >= 1000);
    assert.ok(count(reportOf(atOnce(planReload(running, applied, facts)))) >= 1000);
  });
});
