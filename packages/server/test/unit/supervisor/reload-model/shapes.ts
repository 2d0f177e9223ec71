import * as fc from 'fast-check';
import type { InboundSpec, InboundStreamSpec, OutboundSpec, Spec } from '@weir/proxy/spec';
import { inboundFacts, type ProtocolOf } from '../../../../src/supervisor/inbound-listener.ts';
import { inboundProtocol } from '@weir/proxy/protocols';
import {
  balancerSpec,
  inboundSpec,
  outboundSpec,
  routeSpec,
  ruleSpec,
  spec,
  upstreamSpec,
} from '../../../../../../test/support/data/specs.ts';
import { lines } from '../../../../../../test/support/peers/own-session-protocol.ts';

const FAKES = new Map([
  ['lines', lines().inbound],
  ['rows', lines().inbound],
]);

/** The protocols, and two fake ones whose listeners own their sessions. */
export const protocolOf: ProtocolOf = (name) => FAKES.get(name) ?? inboundProtocol(name);
export const facts = inboundFacts(protocolOf);

const TAGS = ['a', 'b', 'c'] as const;
const EXITS = ['direct', 'spare', 'hole', 'up0', 'up1', 'group'] as const;
export const PLACES = 3;
export const PASS = 'x';
/** The first two have a rule each. */
export const HOSTS = ['one.test', 'two.test', 'other.test'] as const;

/** Of WebSockets. */
export const PATHS = ['/x', '/y'] as const;

type RoutingTarget = (typeof EXITS)[number];
type Family = 'auto' | 'ipv4_only';

export interface InboundShape {
  readonly kind: 'socks' | 'http' | 'shadowsocks' | 'lines' | 'rows';
  /** Which port; the next one where two inbounds would have the same. */
  readonly place: number;
  readonly wide: boolean;
  readonly users: number;
  readonly sniffing: boolean;
  /** What servers with own sessions respond. */
  readonly name: string;
  /** What they cannot change under live sessions. */
  readonly fixed: string;
  /** Path of the WebSockets in which `socks` and `http` expect their clients; `undefined` for none. */
  readonly path: string | undefined;
}

/** A configuration. */
export interface Shape {
  readonly inbounds: Readonly<Partial<Record<(typeof TAGS)[number], InboundShape | undefined>>>;
  readonly direct: Family;
  readonly upstream: Family;
  readonly extra: boolean;
  readonly reversed: boolean;
  readonly members: readonly string[];
  readonly pace: number;
  readonly default: RoutingTarget;
  readonly one: RoutingTarget;
  readonly two: RoutingTarget;
  readonly ports: boolean;
  /** Target of the route group, where there is one. */
  readonly group: RoutingTarget | undefined;
  readonly dns: number;
  readonly level: string;
}

export const PLAIN = {
  wide: false,
  users: 0,
  sniffing: true,
  name: 'first',
  fixed: 'x',
  path: undefined,
};

export const FIRST: Shape = {
  inbounds: {
    a: { kind: 'lines', place: 0, ...PLAIN },
    b: { kind: 'lines', place: 1, ...PLAIN, name: 'second' },
    c: { kind: 'socks', place: 0, ...PLAIN },
  },
  direct: 'auto',
  upstream: 'auto',
  extra: false,
  reversed: false,
  members: ['up0', 'up1'],
  pace: 30,
  default: 'direct',
  one: 'group',
  two: 'up1',
  ports: false,
  group: undefined,
  dns: 0,
  level: 'info',
};

export interface Placed extends InboundShape {
  readonly tag: string;
}

export const isTcp = ({ kind }: InboundShape): boolean => kind !== 'lines' && kind !== 'rows';
export const isUdp = ({ kind }: InboundShape): boolean => kind !== 'socks' && kind !== 'http';
const mayHavePath = ({ kind }: InboundShape): boolean => kind === 'socks' || kind === 'http';
/** The path of an inbound that has one. */
export const pathOf = (inbound: InboundShape): string | undefined =>
  mayHavePath(inbound) ? inbound.path : undefined;
export const takesLogins = (inbound: InboundShape): boolean =>
  mayHavePath(inbound) && inbound.path === undefined;

/** The inbounds with the ports that they get. */
export function placed({ inbounds }: Shape): Placed[] {
  const taken = new Set<string>();
  return TAGS.flatMap((tag) => {
    const inbound = inbounds[tag];
    if (!inbound) return [];
    const keys = (place: number): string[] => [
      ...(isTcp(inbound) ? [`tcp ${place}`] : []),
      ...(isUdp(inbound) ? [`udp ${place}`] : []),
    ];
    let { place } = inbound;
    while (keys(place).some((key) => taken.has(key))) place = (place + 1) % PLACES;
    for (const key of keys(place)) taken.add(key);
    return [{ ...inbound, tag, place }];
  });
}

/** Changes one thing of a configuration. */
export type Change = (shape: Shape) => Shape;

const named = (text: string, change: Change): Change =>
  Object.assign(change, { [fc.toStringMethod]: () => text });

const inbound: fc.Arbitrary<InboundShape> = fc.record({
  kind: fc.constantFrom('socks', 'socks', 'http', 'shadowsocks', 'lines', 'lines', 'lines', 'rows'),
  place: fc.nat(PLACES - 1),
  wide: fc.boolean(),
  users: fc.nat(2),
  sniffing: fc.boolean(),
  name: fc.constantFrom('first', 'second'),
  fixed: fc.constantFrom('x', 'y'),
  path: fc.constantFrom(undefined, ...PATHS),
});
const tag = fc.constantFrom(...TAGS);
const exit = fc.constantFrom(...EXITS);
const family = fc.constantFrom<Family>('auto', 'ipv4_only');

const wholeInbound = fc
  .tuple(tag, fc.option(inbound, { nil: undefined, freq: 3 }))
  .map(([of, next]) =>
    named(`${of} = ${JSON.stringify(next)}`, (shape) => ({
      ...shape,
      inbounds: { ...shape.inbounds, [of]: next },
    })),
  );

const PARTS = [
  'kind',
  'kind',
  'place',
  'wide',
  'users',
  'sniffing',
  'name',
  'fixed',
  'path',
] as const;

const partOfInbound = fc.tuple(tag, inbound, fc.constantFrom(...PARTS)).map(([of, from, part]) =>
  named(`${of}.${part} = ${from[part]}`, (shape) => {
    const before = shape.inbounds[of];
    if (!before) return shape;
    return { ...shape, inbounds: { ...shape.inbounds, [of]: { ...before, [part]: from[part] } } };
  }),
);

/** Changes some inbounds. */
export const withInbounds =
  (changed: Shape['inbounds']): Change =>
  (shape) => ({ ...shape, inbounds: { ...shape.inbounds, ...changed } });

/** Two inbounds exchange their places, or all but their tags: listeners go from one to another. */
const exchange = fc
  .tuple(fc.shuffledSubarray([...TAGS], { minLength: 2, maxLength: 2 }), fc.boolean())
  .map(([[one = 'a', two = 'b'], isWhole]) =>
    named(`${one} ${isWhole ? '<->' : 'place <-> place'} ${two}`, (shape) => {
      const [first, second] = [shape.inbounds[one], shape.inbounds[two]];
      const moved = isWhole
        ? { [one]: second, [two]: first }
        : {
            [one]: first && { ...first, place: second?.place ?? first.place },
            [two]: second && { ...second, place: first?.place ?? second.place },
          };
      return { ...shape, inbounds: { ...shape.inbounds, ...moved } };
    }),
  );

const otherPart = fc
  .oneof(
    ...[
      { direct: family },
      { upstream: family },
      { extra: fc.boolean() },
      { reversed: fc.boolean() },
      { members: fc.shuffledSubarray(['up0', 'up1'], { minLength: 1 }) },
      { pace: fc.constantFrom(30, 31) },
      { default: exit },
      { one: exit },
      { two: exit },
      { ports: fc.boolean() },
      { group: fc.option(exit, { nil: undefined, freq: 3 }) },
      { dns: fc.nat(1) },
      { level: fc.constantFrom('info', 'debug') },
    ].map((part) => fc.record(part as Record<string, fc.Arbitrary<unknown>>)),
  )
  .map((part) => named(JSON.stringify(part), (shape) => ({ ...shape, ...part })));

export const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 3, arbitrary: wholeInbound },
  { weight: 3, arbitrary: partOfInbound },
  { weight: 3, arbitrary: exchange },
  { weight: 4, arbitrary: otherPart },
);

/** Where a reload can fail, and the code of its error. */
export const FAULTS = {
  outbound: 'build_failed',
  balancer: 'bad_balancer',
  pattern: 'build_failed',
  certificate: 'build_failed',
  server: 'build_failed',
  refused: 'bind',
  taken: 'bind',
  api: 'bind',
} as const;
export type Fault = keyof typeof FAULTS;

/** What configurations refer to. */
export interface HostState {
  /** Of the inbounds. */
  readonly ports: readonly number[];
  /** A port that another program has, for TCP and UDP. */
  readonly taken: number;
  readonly upstreams: readonly number[];
  readonly dns: readonly number[];
}

const at = (port: number, host = '127.0.0.1') => ({ kind: 'ip', host, port }) as const;

function settingsOf({ kind, users, name, fixed }: InboundShape): unknown {
  const accounts = Array.from({ length: users }, (_, i) => ({ user: `u${i}`, pass: PASS }));
  switch (kind) {
    case 'socks':
      return { auth: users > 0 ? 'password' : 'none', accounts, udp: true, udpBind: undefined };
    case 'http':
      return { accounts, allowTransparent: false };
    case 'shadowsocks':
      return { method: 'aes-128-gcm', key: Buffer.alloc(16, users).toString('base64'), users: [] };
    case 'lines':
    case 'rows':
      return { name, fixed };
    default:
      return kind satisfies never;
  }
}

function streamOf(inbound: InboundShape): InboundStreamSpec | undefined {
  const path = pathOf(inbound);
  return path === undefined
    ? undefined
    : { tls: undefined, carrier: { kind: 'ws', path, host: undefined } };
}

function brokenInbounds(fault: Fault | undefined, { taken }: HostState): InboundSpec[] {
  const fake = (settings: object): InboundSpec =>
    inboundSpec('broken', { protocol: 'lines', settings });
  const tls = { certificates: 'none', key: 'none' };
  if (fault === 'certificate') {
    return [inboundSpec('broken', { stream: { tls, carrier: { kind: 'raw' } } })];
  }
  if (fault === 'server') return [fake({ name: '', broken: true })];
  if (fault === 'refused') return [fake({ name: '', unbindable: true })];
  return fault === 'taken' ? [inboundSpec('broken', { listen: at(taken) })] : [];
}

export function specOf(shape: Shape, around: HostState, fault?: Fault): Spec {
  const { reversed } = shape;
  const inbounds = placed(shape).map((each): InboundSpec =>
    inboundSpec(each.tag, {
      protocol: each.kind,
      listen: at(around.ports[each.place] ?? 0, each.wide ? '0.0.0.0' : '127.0.0.1'),
      sniffing: each.sniffing,
      stream: streamOf(each),
      settings: settingsOf(each),
    }),
  );
  const broken = brokenInbounds(fault, around);
  const upstreams = around.upstreams.map((port, i): OutboundSpec => ({
    ...upstreamSpec(`up${i}`, port),
    addressFamily: shape.upstream,
  }));
  const outbounds = [
    outboundSpec('direct'),
    outboundSpec('spare', { addressFamily: shape.direct }),
    outboundSpec('hole', { protocol: 'blackhole' }),
    ...upstreams,
    ...(shape.extra ? [outboundSpec('extra')] : []),
  ];
  if (fault === 'outbound') {
    // What creates it throws.
    outbounds.push({ ...upstreamSpec('broken'), protocol: 'trojan', settings: undefined });
  }
  const ports = shape.ports ? { port: [{ low: 1, high: 65_535 }] } : {};
  const rules = [
    ruleSpec(shape.one, { domainFull: [HOSTS[0]], ...ports }),
    ruleSpec(shape.two, { domainFull: [HOSTS[1]] }),
  ];
  if (fault === 'pattern') rules.push(ruleSpec('direct', { domainRegex: ['('] }));
  const members = fault === 'balancer' ? ['up0', 'direct'] : shape.members;
  const { group } = shape;
  const groups = group ? [{ name: 'one', outbound: group, firstRule: 0, rules: 1 }] : [];
  return spec({
    log: { level: shape.level },
    dns: { backend: 'udp', server: { host: '127.0.0.1', port: around.dns[shape.dns] ?? 0 } },
    inbounds: reversed ? [...broken, ...inbounds.toReversed()] : [...inbounds, ...broken],
    outbounds: reversed ? outbounds.toReversed() : outbounds,
    balancers: [{ ...balancerSpec('group', members), probeInterval: shape.pace }],
    route: routeSpec({ default: shape.default, rules, groups }),
  });
}
