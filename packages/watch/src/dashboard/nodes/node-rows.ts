import type { Monitor, TrafficPart } from '@weir/client/monitor';
import type { NodeRow, NodeHealth, NodeProbe, NodeSort } from './view.ts';
import type { MemberStatus, RunningStatus } from '@weir/server/control';
import { printable } from '@weir/base/printable';
import type { BalancerFacts, ConfigFacts, NodeFacts } from '../reader/file-requests.ts';

/** Maximum number of versions of an outbound in a row. */
const SHOWN_VERSIONS = 8;

/**
 * Open flows by outbound and version. A reload gives a changed outbound a new version, and the previous one ends with
 * its flows. An outbound with one version is not listed.
 */
function versionsByOutbound({
  flows,
}: Pick<Monitor, 'flows'>): ReadonlyMap<string, NodeRow['versions']> {
  const counts = new Map<string, Map<number, number>>();
  for (const { view, closedAt } of flows.values()) {
    if (closedAt !== undefined) continue;
    const { outbound, outbound_version: version } = view;
    let versions = counts.get(outbound);
    if (!versions) counts.set(outbound, (versions = new Map<number, number>()));
    versions.set(version, (versions.get(version) ?? 0) + 1);
  }
  const listed = new Map<string, NodeRow['versions']>();
  for (const [outbound, versions] of counts) {
    if (versions.size < 2) continue;
    const latest = [...versions].toSorted(([a], [b]) => b - a).slice(0, SHOWN_VERSIONS);
    listed.set(
      outbound,
      latest.map(([version, open]) => ({ version, flows: open })),
    );
  }
  return listed;
}

/** Maximum number of balancer members in a row. */
const SHOWN_MEMBERS = 12;

type RowMonitor = Pick<Monitor, 'flows' | 'traffic' | 'status'>;

const NO_TRAFFIC: TrafficPart = { up: 0, down: 0, upRate: 0, downRate: 0, flows: 0 };

const NOT_KNOWN: NodeHealth = { state: 'unknown', probedAt: null, error: null };

/** All rows in the order of the file: balancers, outbounds, and removed ones that still have flows. */
export function nodeRows(
  facts: ConfigFacts | undefined,
  monitor: RowMonitor,
  probeOf: (tag: string) => NodeProbe | undefined,
): readonly NodeRow[] {
  const { nodes = [], balancers = [] } = facts ?? {};
  const { traffic, status } = monitor;
  const versions = versionsByOutbound(monitor);
  const health = healthByMember(status?.value.balancers ?? []);
  const known = new Set(nodes.map(({ tag }) => tag));
  const counted = traffic?.outbounds ?? trafficOfStatus(status?.value);
  const trafficOf = (tag: string): TrafficPart => counted.get(tag) ?? NO_TRAFFIC;
  const outbound = (node: NodeFacts): NodeRow => ({
    ...rowOf(`o:${node.tag}`, node.tag, trafficOf(node.tag)),
    kind: 'outbound',
    protocol: node.protocol,
    carrier: node.carrier,
    server: node.server,
    origin: node.origin,
    source: node.source,
    goneSince: node.goneSince,
    acceptsAny: node.acceptsAny,
    versions: versions.get(node.tag) ?? [],
    health: health.any.get(node.tag) ?? null,
    probe: probeOf(node.tag) ?? null,
  });
  const balancer = ({ tag, strategy, members, lostFrom }: BalancerFacts): NodeRow => ({
    ...rowOf(`b:${tag}`, tag, sumOf(members.map(trafficOf))),
    kind: 'balancer',
    protocol: strategy,
    lostFrom,
    members: members.slice(0, SHOWN_MEMBERS).map((member) => ({
      tag: member,
      health: health.byBalancer.get(tag)?.get(member) ?? NOT_KNOWN,
    })),
    moreMembers: Math.max(0, members.length - SHOWN_MEMBERS),
  });
  const gone = facts ? [...counted].filter(([tag, { flows }]) => flows > 0 && !known.has(tag)) : [];
  return [
    ...balancers.map(balancer),
    ...nodes.map(outbound),
    ...gone.map(([tag, part]) => ({
      ...rowOf(`o:${tag}`, tag, part),
      kind: 'gone' as const,
      versions: versions.get(tag) ?? [],
    })),
  ];
}

/** Traffic from the control socket where there is no API: bytes and flows, without rates. */
const trafficOfStatus = (
  status: Pick<RunningStatus, 'traffic'> | undefined,
): ReadonlyMap<string, TrafficPart> =>
  new Map(
    status?.traffic.outbounds.map(({ tag, up, down, flows }) => [
      tag,
      { ...NO_TRAFFIC, up, down, flows },
    ]),
  );

function rowOf(id: string, tag: string, part: TrafficPart): NodeRow {
  const { up, down, upRate, downRate, flows } = part;
  return {
    id,
    tag,
    kind: 'outbound',
    protocol: '',
    carrier: '',
    server: null,
    origin: 'config',
    source: null,
    goneSince: null,
    acceptsAny: false,
    lostFrom: [],
    flows,
    up: upRate,
    down: downRate,
    upTotal: up,
    downTotal: down,
    versions: [],
    health: null,
    members: [],
    moreMembers: 0,
    probe: null,
  };
}

function sumOf(parts: readonly TrafficPart[]): TrafficPart {
  const sum = (key: keyof TrafficPart): number =>
    parts.reduce((total, part) => total + part[key], 0);
  return {
    up: sum('up'),
    down: sum('down'),
    upRate: sum('upRate'),
    downRate: sum('downRate'),
    flows: sum('flows'),
  };
}

interface HealthTables {
  readonly byBalancer: ReadonlyMap<string, ReadonlyMap<string, NodeHealth>>;
  /** By member; a member of several balancers has the worst of their results. */
  readonly any: ReadonlyMap<string, NodeHealth>;
}

function healthByMember(
  balancers: readonly { readonly tag: string; readonly members: readonly MemberStatus[] }[],
): HealthTables {
  const byBalancer = new Map<string, Map<string, NodeHealth>>();
  const any = new Map<string, NodeHealth>();
  for (const { tag, members } of balancers) {
    const table = new Map<string, NodeHealth>();
    byBalancer.set(tag, table);
    for (const { outbound, health: state, probed_at: probedAt, error } of members) {
      const health = { state, probedAt, error: error === null ? null : printable(error) };
      table.set(outbound, health);
      const before = any.get(outbound);
      if (!before || RANK[state] < RANK[before.state]) any.set(outbound, health);
    }
  }
  return { byBalancer, any };
}

const RANK = { unavailable: 0, unknown: 1, available: 2 } as const;

/**
 * Whether a row has a problem: a failed health check or probe, of itself or a member, or a subscription that lacks its
 * nodes.
 */
const isDown = ({ health, probe, members, lostFrom }: NodeRow): boolean =>
  health?.state === 'unavailable' ||
  (probe?.state === 'done' && probe.succeeded === 0) ||
  members.some(({ health: { state } }) => state === 'unavailable') ||
  lostFrom.length > 0;

/** Predicates of search terms that do not match text. */
const WORDS: ReadonlyMap<string, (row: NodeRow) => boolean> = new Map([
  ['is:down', isDown],
  ['is:insecure', ({ acceptsAny }) => acceptsAny],
]);

/** Rows that match every term of a search, compared in lower case. */
export function matchingRows(rows: readonly NodeRow[], search: string): readonly NodeRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const { tag, protocol, carrier, server, source, kind, members } = row;
    const texts = [tag, protocol, carrier, server ?? '', source ?? '', kind];
    const all = [...texts, ...members.map((member) => member.tag)].join('\n').toLowerCase();
    return words.every((word) => WORDS.get(word)?.(row) ?? all.includes(word));
  });
}

/** A sorted copy; rows without a value come last. */
export function sortedRows(
  rows: readonly NodeRow[],
  sort: NodeSort,
  descending: boolean,
): readonly NodeRow[] {
  if (sort === 'file') return descending ? rows.toReversed() : rows;
  const sign = descending ? -1 : 1;
  const key = KEYS[sort];
  return rows.toSorted((a, b) => {
    const [x, y] = [key(a), key(b)];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    return sign * (typeof x === 'string' ? x.localeCompare(String(y)) : x - Number(y));
  });
}

const KEYS: Readonly<Record<Exclude<NodeSort, 'file'>, (row: NodeRow) => string | number | null>> =
  {
    tag: ({ tag }) => tag,
    protocol: ({ protocol }) => protocol,
    flows: ({ flows }) => flows,
    rate: ({ up, down }) => up + down,
    total: ({ upTotal, downTotal }) => upTotal + downTotal,
    second: ({ probe }) => probe?.second ?? probe?.firstByte ?? null,
  };
