import type { Flow } from '../tracker/flow.ts';
import type { TrafficFigures, TrafficSnapshot } from '../tracker/traffic.ts';
import type { LiveSession } from '../tracker/tracker.ts';

/* Views with the field names of the API's JSON, so that a user interface can use either. */

/** An accepted connection of a client. Counts are wire bytes, including protocol overhead. */
export interface SessionView {
  readonly id: number;
  /** Tag of the inbound that accepted it. */
  readonly inbound: string;
  /** The client's IP address; `null` on a unix socket. */
  readonly source: string | null;
  /** The user's label; `null` without a user, and before the first flow. */
  readonly user: string | null;
  /** Bytes from the client. */
  readonly up: number;
  /** Bytes to the client. */
  readonly down: number;
  /** Unix milliseconds. */
  readonly started_at: number;
}

/** A stream or UDP sub-link. Counts are payload bytes. */
export interface FlowView {
  /** Increases in the order of registration, and is never reused. */
  readonly id: number;
  readonly session: number | null;
  readonly network: 'tcp' | 'udp' | 'unknown';
  readonly inbound: string;
  readonly user: string | null;
  readonly source: string | null;
  /** The destination as requested: a domain or an IP address. */
  readonly host: string;
  readonly port: number;
  readonly sniffed: string | null;
  /** Tag of the outbound that carries the flow; for a balancer, of the member. */
  readonly outbound: string;
  readonly outbound_version: number;
  /** Index of the rule that matched; `null` for the default route. */
  readonly rule: number | null;
  readonly plane_epoch: number;
  /** Unix milliseconds. */
  readonly started_at: number;
  /** Bytes toward the destination. */
  readonly up: number;
  /** Bytes toward the client. */
  readonly down: number;
}

export interface ConnectionsView {
  /** Sorted by id. */
  readonly sessions: readonly SessionView[];
  /** Sorted by id. */
  readonly flows: readonly FlowView[];
}

/** A flow that has opened or closed, or the number of events that a slow reader has missed. */
export type FlowEventView =
  | { readonly event: 'opened'; readonly flow: FlowView }
  | { readonly event: 'closed'; readonly flow: FlowView }
  | { readonly event: 'lagged'; readonly missed: number };

/** Bytes since the start, bytes per second over the tick, and the number of live flows at the tick. */
export interface TrafficFiguresView {
  readonly up: number;
  readonly down: number;
  readonly up_rate: number;
  readonly down_rate: number;
  readonly flows: number;
}

export interface TrafficView extends TrafficFiguresView {
  /** Number of ticks since the start. */
  readonly tick: number;
  /** The interval in milliseconds over which rates are measured. */
  readonly interval_ms: number;
  /** Figures by tag. */
  readonly inbounds: Readonly<Record<string, TrafficFiguresView>>;
  readonly outbounds: Readonly<Record<string, TrafficFiguresView>>;
}

/** @param offset from monotonic to wall time: see `StartTimes`. */
export function sessionView(session: LiveSession, offset: number): SessionView {
  const { id, inbound, source = null, user = null, up, down, startedAt } = session;
  return { id, inbound, source, user, up, down, started_at: wallTime(offset + startedAt) };
}

/** @param offset from monotonic to wall time: see `StartTimes`. */
export function flowView(flow: Flow, offset: number): FlowView {
  const { session, inbound, user = null, source = null, destination, sniffed = null } = flow.info;
  const { outbound, outboundVersion, rule = null, planeEpoch } = flow.info;
  return {
    id: flow.id,
    session: session?.id ?? null,
    network: destination.network,
    inbound,
    user,
    source,
    host: destination.host,
    port: destination.port,
    sniffed,
    outbound,
    outbound_version: outboundVersion,
    rule,
    plane_epoch: planeEpoch,
    started_at: wallTime(offset + flow.startedAt),
    up: flow.up,
    down: flow.down,
  };
}

export function trafficView(snapshot: TrafficSnapshot): TrafficView {
  return {
    tick: snapshot.tick,
    interval_ms: snapshot.intervalMs,
    ...figuresView(snapshot),
    inbounds: byTag(snapshot.inbounds),
    outbounds: byTag(snapshot.outbounds),
  };
}

const figuresView = ({
  up,
  down,
  upRate,
  downRate,
  flows,
}: TrafficFigures): TrafficFiguresView => ({
  up,
  down,
  up_rate: upRate,
  down_rate: downRate,
  flows,
});

const byTag = (tags: ReadonlyMap<string, TrafficFigures>): Record<string, TrafficFiguresView> =>
  Object.fromEntries(Array.from(tags, ([tag, figures]) => [tag, figuresView(figures)]));

/** Rounds down to milliseconds; a time before the epoch is 0. */
const wallTime = (time: number): number => Math.max(0, Math.floor(time));
