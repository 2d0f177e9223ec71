import type {
  EventLoopStatus,
  RunningStatus,
  TagTraffic,
  TrafficStatus,
} from '@weir/server/control';
import type { NamedUsage } from '@weir/proxy/tracker';
import { sha256 } from '@weir/crypto/hash';
import { printable } from '@weir/base/printable';
import { byUse } from '../usage/counts.ts';
import { FAMILIES, type MetricSample, type MetricSet, type MetricFamily } from './exposition.ts';
import type { MetricSnapshot } from './snapshot.ts';

/**
 * Maximum number of series of a family: beyond it, those that have moved the fewest bytes are left out and counted.
 * That order changes slowly, so that series do not come and go.
 */
export const MAX_SERIES = 500;

/** The same for accounts, which have series only where they are asked for. */
export const MAX_USERS = 2000;

/** The metrics of a snapshot. Unknown values have no series. */
export function collect(snapshot: MetricSnapshot): MetricSet {
  const { status, traffic, reached, seconds, users } = snapshot;
  const samples = new Samples();
  samples.one(FAMILIES.up, status !== undefined || traffic !== undefined ? 1 : 0);
  for (const [source, isUp] of reached) samples.add(FAMILIES.sourceUp, [source], isUp ? 1 : 0);
  if (status) addStatus(samples, status);
  else if (traffic) {
    addTraffic(samples, traffic);
    samples.one(FAMILIES.flows, traffic.flows);
  }
  if (users) addUsers(samples, users);
  samples.one(FAMILIES.leftOut, samples.leftOut);
  samples.one(FAMILIES.scrape, seconds);
  return {
    samples: samples.sorted(),
    created: status && status.started_at / 1000,
    createdLater: createdLater(status),
  };
}

/**
 * Start times of families that count from later than Weir's start: the event loop is measured from the first request
 * for the status on.
 */
function createdLater(
  status: Partial<RunningStatus> | undefined,
): ReadonlyMap<MetricFamily, number> {
  const since = inSeconds(status?.event_loop?.since);
  return new Map(since === undefined ? [] : [[FAMILIES.loopDelay, since]]);
}

/** Adds the samples of a status; an older Weir reports fewer fields. */
function addStatus(samples: Samples, status: Partial<RunningStatus>): void {
  const { version, node, traffic, memory, processor, event_loop: loop, missed } = status;
  const { commit, date } = status.build ?? {};
  const build = [version, commit, date, node].map((value) => labelValue(value ?? ''));
  samples.add(FAMILIES.build, build, 1);
  samples.one(FAMILIES.startTime, inSeconds(status.started_at));
  if (traffic) addTraffic(samples, traffic);
  addCounts(samples, status);
  addLimits(samples, status);
  addMembers(samples, status);
  addReloads(samples, status);
  samples.one(FAMILIES.planeEpoch, status.plane_epoch);
  samples.one(FAMILIES.eventsMissed, missed?.events);
  samples.labelled(FAMILIES.logLinesLost, {
    stderr: missed?.log_lines,
    follower: missed?.followed_lines,
  });
  samples.labelled(FAMILIES.processor, {
    user: inSeconds(processor?.user),
    system: inSeconds(processor?.system),
  });
  samples.one(FAMILIES.memoryResident, memory?.resident);
  samples.one(FAMILIES.memoryHeapUsed, memory?.heap_used);
  samples.one(FAMILIES.memoryHeap, memory?.heap_total);
  samples.one(FAMILIES.memoryExternal, memory?.external);
  if (loop) addLoop(samples, loop);
}

const inSeconds = (milliseconds: number | null | undefined): number | undefined =>
  typeof milliseconds === 'number' ? milliseconds / 1000 : undefined;

function addTraffic(samples: Samples, { up, down, inbounds, outbounds }: TrafficStatus): void {
  samples.labelled(FAMILIES.traffic, { up, down });
  addTags(samples, FAMILIES.inboundTraffic, FAMILIES.inboundFlows, inbounds);
  addTags(samples, FAMILIES.outboundTraffic, FAMILIES.outboundFlows, outbounds);
}

function addTags(
  samples: Samples,
  bytes: MetricFamily,
  flows: MetricFamily,
  tags: readonly TagTraffic[],
): void {
  const most = tags.toSorted(
    (a, b) => b.up + b.down - (a.up + a.down) || b.flows - a.flows || (a.tag < b.tag ? -1 : 1),
  );
  for (const { tag, up, down, flows: open } of samples.first(most, 3)) {
    const label = labelValue(tag);
    samples.add(bytes, [label, 'up'], up);
    samples.add(bytes, [label, 'down'], down);
    samples.add(flows, [label], open);
  }
}

function addUsers(samples: Samples, users: readonly NamedUsage[]): void {
  const named = users.filter(({ name }) => name !== '');
  for (const { name, up, down, flows } of samples.first(named.toSorted(byUse), 3, MAX_USERS)) {
    const label = labelValue(name);
    samples.add(FAMILIES.userTraffic, [label, 'up'], up);
    samples.add(FAMILIES.userTraffic, [label, 'down'], down);
    samples.add(FAMILIES.userFlows, [label], flows);
  }
}

function addCounts(samples: Samples, status: Partial<RunningStatus>): void {
  const { flows, flows_opened: opened, sessions, sessions_opened: connected } = status;
  samples.one(FAMILIES.flows, flows);
  samples.one(FAMILIES.flowsOpened, opened);
  samples.one(FAMILIES.flowsBlocked, status.flows_blocked);
  samples.one(FAMILIES.flowsLimited, status.flows_limited);
  samples.one(FAMILIES.flowsFailed, status.flows_failed);
  addFailedDials(samples, status);
  if (opened !== undefined) samples.one(FAMILIES.flowsClosed, opened - (flows ?? 0));
  samples.one(FAMILIES.sessions, sessions);
  samples.one(FAMILIES.sessionsOpened, connected);
  for (const { tag, sessions: count } of samples.first(status.inbounds ?? [], 1)) {
    samples.add(FAMILIES.inboundSessions, [labelValue(tag)], count);
  }
}

function addFailedDials(
  samples: Samples,
  { failed_dials: all = [] }: Partial<RunningStatus>,
): void {
  const most = all.toSorted((a, b) => b.dials - a.dials);
  for (const { outbound, dials } of samples.first(most, 1)) {
    samples.add(FAMILIES.dialsFailed, [labelValue(outbound)], dials);
  }
}

function addLimits(samples: Samples, { limits = [] }: Partial<RunningStatus>): void {
  const fullest = limits.toSorted((a, b) => b.used / b.limit - a.used / a.limit);
  for (const { name, used, limit } of samples.first(fullest, 2)) {
    const label = labelValue(name);
    samples.add(FAMILIES.limitUsed, [label], used);
    samples.add(FAMILIES.limitMax, [label], limit);
  }
}

function addMembers(samples: Samples, { balancers = [] }: Partial<RunningStatus>): void {
  const members = balancers.flatMap(({ tag, members: all }) =>
    all.map((member) => ({ ...member, balancer: tag })),
  );
  for (const { balancer, outbound, health, probed_at: probed } of samples.first(members, 2)) {
    const labels = [labelValue(balancer), labelValue(outbound)];
    if (health !== 'unknown')
      samples.add(FAMILIES.memberUp, labels, health === 'available' ? 1 : 0);
    if (probed !== null) samples.add(FAMILIES.memberProbed, labels, probed / 1000);
  }
}

function addReloads(samples: Samples, status: Partial<RunningStatus>): void {
  const { reloads, last_reload: last, started_at: started } = status;
  samples.labelled(FAMILIES.reloads, {
    applied: reloads?.applied,
    unchanged: reloads?.unchanged,
    failed: reloads?.failed,
  });
  samples.one(FAMILIES.reloadSuccessful, last?.outcome.kind === 'failed' ? 0 : 1);
  if (!reloads) return;
  samples.one(FAMILIES.reloadApplied, inSeconds(reloads.last_applied_at ?? started));
}

function addLoop(samples: Samples, { p50, p99, max, sum, count }: Partial<EventLoopStatus>): void {
  const family = FAMILIES.loopDelay;
  samples.add(family, [], inSeconds(p50), { quantile: '0.5' });
  samples.add(family, [], inSeconds(p99), { quantile: '0.99' });
  samples.add(family, [], inSeconds(sum), 'sum');
  samples.add(family, [], count, 'count');
  samples.one(FAMILIES.loopDelayMax, inSeconds(max));
}

const ORDER: ReadonlyMap<MetricFamily, number> = new Map(
  Object.values(FAMILIES).map((family, index) => [family, index]),
);

class Samples {
  leftOut = 0;
  readonly #all: MetricSample[] = [];

  one(family: MetricFamily, value: number | undefined): void {
    this.add(family, [], value);
  }

  /** Adds the samples of a family with one label, keyed by label value. */
  labelled(family: MetricFamily, values: Readonly<Record<string, number | undefined>>): void {
    for (const [label, value] of Object.entries(values)) this.add(family, [label], value);
  }

  add(
    family: MetricFamily,
    labels: readonly string[],
    value: number | undefined,
    part?: MetricSample['part'],
  ): void {
    if (value === undefined) return;
    this.#all.push(
      part === undefined ? { family, labels, value } : { family, labels, value, part },
    );
  }

  /** Returns the first items, and counts the series of the others as left out. @param series of one item */
  first<Item>(items: readonly Item[], series: number, most = MAX_SERIES): readonly Item[] {
    this.leftOut += series * Math.max(0, items.length - most);
    return items.slice(0, most);
  }

  /** The samples in the order of `FAMILIES`, so that those of a family are adjacent. */
  sorted(): readonly MetricSample[] {
    const place = ({ family }: MetricSample): number => ORDER.get(family) ?? 0;
    return this.#all.toSorted((a, b) => place(a) - place(b));
  }
}

/**
 * Maximum characters of a label value; Prometheus has no limit by default, its storage backends often have 512 or more.
 */
const MAX_LENGTH = 128;

const HASH_DIGITS = 8;

/**
 * A name from a configuration as a label value, printable and of limited length. Different names remain different: a
 * changed one ends with a part of its hash.
 */
export function labelValue(name: string): string {
  const text = printable(name.slice(0, MAX_LENGTH + 1));
  if (text === name && text.length <= MAX_LENGTH) return name;
  const hash = Buffer.from(sha256(Buffer.from(name, 'utf16le'))).toString('hex');
  const kept = text.slice(0, MAX_LENGTH - HASH_DIGITS - 1).toWellFormed();
  return `${kept}~${hash.slice(0, HASH_DIGITS)}`;
}
