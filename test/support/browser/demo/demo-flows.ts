import type { FlowView, SessionView } from '@weir/server/api/views';
import type {
  MonitoredFlow,
  RatePoint,
  TrafficPart,
  TrafficSample,
} from '../../../../packages/client/src/monitor/contract.ts';

/** Where flows go, in which share, and how fast: bytes per second. */
const TARGETS = [
  { host: 'cdn.video.example', outbound: 'Singapore 01', rule: 7, rate: 900_000, share: 3 },
  { host: 'live.stream.example', outbound: 'Singapore 01', rule: 7, rate: 420_000, share: 2 },
  { host: 'git.code.example', outbound: 'tokyo', rule: 1, rate: 60_000, share: 6 },
  { host: 'registry.example', outbound: 'tokyo', rule: 1, rate: 250_000, share: 3 },
  { host: 'imap.mail.example', outbound: 'osaka', rule: 2, rate: 300, share: 8, port: 993 },
  {
    host: 'room.meet.example',
    outbound: 'Frankfurt 01',
    rule: 9,
    rate: 180_000,
    share: 2,
    port: 3478,
  },
  { host: 'radio.music.example', outbound: 'Singapore 01', rule: 8, rate: 24_000, share: 2 },
  { host: 'www.example.com', outbound: 'direct', rule: null, rate: 900, share: 9 },
  { host: 'api.weather.example', outbound: 'direct', rule: null, rate: 0, share: 5 },
  { host: '192.168.1.20', outbound: 'direct', rule: 0, rate: 1_200_000, share: 1, port: 445 },
  { host: '2001:db8:7::53', outbound: 'direct', rule: null, rate: 120, share: 2, port: 53 },
  {
    host: 'downloads.a-mirror-with-a-rather-long-name.example.org',
    outbound: 'direct',
    rule: null,
    rate: 2_400_000,
    share: 1,
  },
] as const;

const CLIENTS = [
  { inbound: 'office', user: null, source: '192.0.2.21' },
  { inbound: 'travel', user: 'ann', source: '198.51.100.7' },
  { inbound: 'travel', user: 'ben', source: '198.51.100.40' },
  { inbound: 'office', user: null, source: '192.0.2.35' },
  { inbound: 'travel', user: 'carla', source: '203.0.113.88' },
  { inbound: 'phones', user: null, source: '2001:db8:40::1f' },
] as const;

/** The same numbers each time: a linear congruential generator (Numerical Recipes), between 0 and 1. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
}

/** Flows of the clients, the last ones closed; `epoch` is that of the plane. */
export function demoFlows(now: number, epoch: number, count = 180): readonly MonitoredFlow[] {
  const next = numbers(7);
  const targets = TARGETS.flatMap((target) => Array.from({ length: target.share }, () => target));
  return Array.from({ length: count }, (_, index): MonitoredFlow => {
    const target = targets[Math.floor(next() * targets.length)] ?? TARGETS[0];
    const client = Math.floor(next() ** 2 * CLIENTS.length);
    const { inbound, user, source } = CLIENTS[client] ?? CLIENTS[0];
    const age = Math.round(((count - index) / count) ** 4 * 9 * 3_600_000) + 400 * (count - index);
    const downRate = next() < 0.4 ? 0 : target.rate * (0.4 + next());
    const isUdp = 'port' in target && (target.port === 53 || target.port === 3478);
    const view: FlowView = {
      id: 48_000 + index,
      session: client + 1,
      network: isUdp ? 'udp' : 'tcp',
      inbound,
      user,
      source,
      host: target.host,
      port: 'port' in target ? target.port : 443,
      sniffed: null,
      outbound: target.outbound,
      outbound_version: 1,
      rule: target.rule,
      plane_epoch: epoch,
      started_at: now - age,
      up: Math.round(700 + age * 0.02 * next()),
      down: Math.round(2_000 + (age / 1000) * target.rate * 0.3 * next()),
    };
    const closedAt = index % 29 === 28 ? now - 4_000 : undefined;
    const open = closedAt === undefined;
    return { view, upRate: open ? downRate * 0.04 : 0, downRate: open ? downRate : 0, closedAt };
  });
}

export const demoSessions = (flows: readonly MonitoredFlow[]): ReadonlyMap<number, SessionView> =>
  new Map(
    flows.map(({ view: { session, inbound, source, user, up, down, started_at } }) => [
      session ?? 0,
      { id: session ?? 0, inbound, source, user, up, down, started_at },
    ]),
  );

const sumOf = (flows: readonly MonitoredFlow[]): TrafficPart => ({
  up: sum(flows, ({ view }) => view.up),
  down: sum(flows, ({ view }) => view.down),
  upRate: sum(flows, ({ upRate }) => upRate),
  downRate: sum(flows, ({ downRate }) => downRate),
  flows: flows.filter(({ closedAt }) => closedAt === undefined).length,
});

const sum = <T>(items: readonly T[], value: (item: T) => number): number =>
  items.reduce((total, item) => total + value(item), 0);

/** Sums of flows, by tag as well. */
export function demoTraffic(flows: readonly MonitoredFlow[], at: number, tick = 1): TrafficSample {
  const parts = (tag: 'inbound' | 'outbound') =>
    new Map(
      [...Map.groupBy(flows, ({ view }) => view[tag])].map(([name, some]) => [name, sumOf(some)]),
    );
  return { ...sumOf(flows), at, tick, inbounds: parts('inbound'), outbounds: parts('outbound') };
}

/** Rates that rise and fall, up to those of `last`. */
export function demoHistory(last: TrafficSample, stepMs: number): readonly RatePoint[] {
  const next = numbers(stepMs);
  return Array.from({ length: 120 }, (_, index): RatePoint => {
    const wave = 0.62 + 0.25 * Math.sin(index / 9) + 0.13 * Math.sin(index / 2.3);
    const factor = index === 119 ? 1 : wave * (0.85 + 0.3 * next());
    return {
      at: last.at - (119 - index) * stepMs,
      up: last.upRate * factor,
      down: last.downRate * factor,
      flows: Math.round(last.flows * (0.8 + 0.2 * wave)),
    };
  });
}

/** The same flows after some time, in which each went on at its rate. */
export const later = (
  flows: readonly MonitoredFlow[],
  elapsedMs: number,
): readonly MonitoredFlow[] =>
  flows.map((flow) => {
    const { view, upRate, downRate } = flow;
    const up = view.up + Math.round((upRate * elapsedMs) / 1000);
    const down = view.down + Math.round((downRate * elapsedMs) / 1000);
    return { ...flow, view: { ...view, up, down } };
  });
