import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { canBeProbed } from '../../src/tables/balancer.ts';
import type { BalancerSpec } from '@weir/proxy/spec';
import {
  DIRECT,
  errorOf,
  placeOf,
  refuses,
  specOf,
  type Row,
} from '../../../../test/support/config/support.ts';

const socks = (tag: string): string =>
  `[[outbound]]\ntag = "${tag}"\nprotocol = "socks"\nserver = "${tag}.example"\nport = 1080\n`;
/** Eleven lines: a `socks` outbound `a`, the `http` outbound `b`, then an empty one. */
const TWO = `${socks('a')}${socks('b').replace('"socks"', '"http"')}\n`;

const balancer = (lines: string, tag = 'pool'): string =>
  `[[balancer]]\ntag = "${tag}"\n${lines}\n`;
const MEMBERS = 'outbounds = ["a", "b"]';

const noProbe = (tag: string): string =>
  `balancer pool: outbound ${tag} has no upstream a TCP health probe can reach, so it cannot be balanced`;

const BALANCER: readonly Row[] = [
  [
    'the tag of an outbound',
    TWO + balancer(MEMBERS, 'b'),
    'balancer tag b collides with an outbound tag',
    '13:7 (balancer b)',
  ],
  [
    'the tag of an outbound that comes later',
    balancer('outbounds = ["a"]', 'b') + TWO,
    'balancer tag b collides with an outbound tag',
    '2:7 (balancer b)',
  ],
  [
    'the tag of another balancer',
    TWO + balancer(MEMBERS) + balancer(MEMBERS),
    'balancer tag pool collides with an outbound tag',
    '16:7 (balancer pool)',
  ],
  [
    'no members',
    TWO + balancer('outbounds = []'),
    'a balancer needs at least one outbound',
    '14:13 (balancer pool)',
  ],
  [
    'a member that does not exist',
    TWO + balancer('outbounds = ["a", "A"]'),
    'balancer pool references unknown outbound tag: A',
    '14:19 (balancer pool)',
  ],
  [
    'a balancer as a member',
    TWO + balancer(MEMBERS) + balancer('outbounds = ["a", "pool"]', 'outer'),
    'balancer outer references unknown outbound tag: pool',
    '17:19 (balancer outer)',
  ],
  [
    'itself as a member',
    TWO + balancer('outbounds = ["pool"]'),
    'balancer pool references unknown outbound tag: pool',
    '14:14 (balancer pool)',
  ],
  [
    'a built-in as a member, which the route names too',
    `${TWO}${balancer('outbounds = ["direct"]')}[route]\ndefault = "direct"`,
    'balancer pool references unknown outbound tag: direct',
    '14:14 (balancer pool)',
  ],
  [
    'freedom as a member',
    TWO + DIRECT + balancer('outbounds = ["a", "direct"]'),
    noProbe('direct'),
    '17:19 (balancer pool)',
  ],
  [
    'blackhole by its other name as a member',
    `${balancer('outbounds = ["hole"]')}[[outbound]]\ntag = "hole"\nprotocol = "block"\n`,
    noProbe('hole'),
    '3:14 (balancer pool)',
  ],
  [
    'freedom with a server and no port',
    `${DIRECT}server = "a"\n${balancer('outbounds = ["direct"]')}`,
    noProbe('direct'),
    '7:14 (balancer pool)',
  ],
  [
    'freedom with a port and no server',
    `${DIRECT}port = 80\n${balancer('outbounds = ["direct"]')}`,
    noProbe('direct'),
    '7:14 (balancer pool)',
  ],
  [
    'an unknown strategy',
    TWO + balancer(`${MEMBERS}\nstrategy = "random"`),
    'unknown balancer strategy random (expected failover or round_robin)',
    '15:12 (balancer pool)',
  ],
  [
    'a strategy in another case',
    TWO + balancer(`${MEMBERS}\nstrategy = "Failover"`),
    'unknown balancer strategy Failover (expected failover or round_robin)',
    '15:12 (balancer pool)',
  ],
  ['balancers and no outbound', balancer(MEMBERS), 'config defines no outbounds'],
  [
    'an upstream without a server, though it comes after the balancer',
    `${balancer('outbounds = ["a"]')}[[outbound]]\ntag = "a"\nprotocol = "socks"\n`,
    'missing server',
    '4:1 (outbound a)',
  ],
];

describe('a balancer is refused for', () => refuses(BALANCER));

test('of several errors of a balancer the first is reported', () => {
  const lines = 'strategy = "x"\noutbounds = ["nobody"]';
  assert.match(errorOf(TWO + balancer(lines)).message, /^unknown balancer strategy/);
  const error = errorOf(TWO + balancer(lines, 'a'));
  assert.match(error.message, /collides/);
  assert.equal(placeOf(error), '13:7 (balancer a)');
});

const poolOf = (text: string): BalancerSpec | undefined => specOf(text).balancers[0];

describe('a balancer', () => {
  test('has its defaults filled in', () => {
    assert.deepEqual(specOf(TWO + balancer(MEMBERS)).balancers, [
      {
        tag: 'pool',
        outbounds: ['a', 'b'],
        strategy: 'failover',
        probeInterval: 30,
        probeTimeout: 5,
      },
    ]);
  });

  test('keeps the order of its members, and one that stands twice', () => {
    const pool = poolOf(TWO + balancer('outbounds = ["b", "a", "b"]\nstrategy = "round_robin"'));
    assert.deepEqual(pool?.outbounds, ['b', 'a', 'b']);
    assert.equal(pool.strategy, 'round_robin');
  });

  test('may probe without pause, with no patience and hardly ever', () => {
    const pool = poolOf(`${TWO}${balancer(`${MEMBERS}\nprobe_interval = 0\nprobe_timeout = 0`)}`);
    assert.equal(pool?.probeInterval, 0);
    assert.equal(pool.probeTimeout, 0);
    const rare = `${MEMBERS}\nprobe_interval = 18446744073709551615`;
    assert.equal(poolOf(TWO + balancer(rare))?.probeInterval, 2 ** 64);
  });

  test('takes freedom and blackhole that say what to probe', () => {
    const probed = 'server = "probe.example"\nport = 443\n';
    const hole = `[[outbound]]\ntag = "hole"\nprotocol = "blackhole"\n${probed}`;
    const pool = poolOf(DIRECT + probed + hole + balancer('outbounds = ["direct", "hole"]'));
    assert.deepEqual(pool?.outbounds, ['direct', 'hole']);
  });

  test('may come before its members', () => {
    assert.deepEqual(poolOf(balancer(MEMBERS) + TWO)?.outbounds, ['a', 'b']);
  });

  test('may be where a route wants an outbound, and is never the default by itself', () => {
    const rule = '[[route.rule]]\noutbound = "pool"\n';
    const { route, outbounds } = specOf(balancer(MEMBERS) + TWO + rule);
    assert.equal(route.default, 'a');
    assert.equal(route.rules[0]?.outbound, 'pool');
    assert.equal(outbounds.length, 2);
    assert.equal(
      specOf(`${TWO}${balancer(MEMBERS)}[route]\ndefault = "pool"`).route.default,
      'pool',
    );
  });

  test('may carry the name of a built-in, which is not made then', () => {
    const text = `${TWO}${balancer(MEMBERS, 'direct')}[[route.rule]]\noutbound = "direct"`;
    const { outbounds, route } = specOf(text);
    assert.deepEqual(
      outbounds.map(({ tag }) => tag),
      ['a', 'b'],
    );
    assert.equal(route.rules[0]?.outbound, 'direct');
  });
});

test('what only UDP reaches cannot be probed, whatever it carries', () => {
  const span = { start: 0, end: 0 };
  const outbound = (protocol: string, server?: string, port?: number) => ({
    protocol: { value: protocol, span },
    server: server === undefined ? undefined : { value: server, span },
    port,
  });
  assert.ok(!canBeProbed(outbound('hysteria2', 'a.example', 443)));
  assert.ok(!canBeProbed(outbound('wireguard')));
  assert.ok(canBeProbed(outbound('wireguard', 'a.example', 443)));
  assert.ok(canBeProbed(outbound('shadowsocks', 'a.example', 443)));
});
