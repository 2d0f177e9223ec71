import type { Clock } from '@weir/io/time';
import type { RouteGroupView, RouteTargetView, RouteView } from '@weir/config/route-view';
import type { Flow, LiveSession, TrafficFigures, TrafficSnapshot } from '@weir/proxy/tracker';
import { type Check, isNumber, isText, listOf, orNull, recordOf, shape } from '@weir/proxy/schema';
import type { AppliedReport } from '../supervisor/reload-report.ts';

/** Approximate number of readings in one millisecond, the resolution of the wall clock. */
const FIRST_READINGS = 10_000;
const READINGS = 8;

/**
 * Drift between the clocks, in milliseconds, from which the offset is corrected. Less is within the error of a reading,
 * because the wall clock counts whole milliseconds.
 */
const SLACK_MS = 2;

/**
 * Start times in Unix milliseconds, computed when read: the wall time minus the monotonic time since the start. A step
 * of the wall clock therefore changes them.
 *
 * The offset between the clocks is kept while it is accurate, so that a start time does not vary between responses.
 */
export class StartTimes {
  readonly #clock: Clock;
  #offset: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#offset = this.#measure(FIRST_READINGS);
  }

  /** The offset that turns a monotonic time into wall time. */
  read(): number {
    if (!this.#holds(this.#measure(1))) {
      const measured = this.#measure(READINGS);
      if (!this.#holds(measured)) this.#offset = measured;
    }
    return this.#offset;
  }

  #holds(measured: number): boolean {
    return Math.abs(measured - this.#offset) <= SLACK_MS;
  }

  /**
   * The greatest offset of several readings: the wall clock lags by up to a millisecond, and an interruption between
   * the two readings also makes the difference too small.
   */
  #measure(readings: number): number {
    let greatest = -Infinity;
    for (let reading = 0; reading < readings; reading++) {
      greatest = Math.max(greatest, this.#clock.wall() - this.#clock.now());
    }
    return greatest;
  }
}

/*
 * The bodies of the API: their types, how they are made and written, and the checks of clients. A new field of a flow
 * is a line in `FlowView`, in `flowView` and in `isFlow`; docs/openapi.yaml describes them all. Texts in them come from
 * configurations and from the network, and must be escaped before they are shown.
 */

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

/** @param offset from monotonic to wall time: see `StartTimes` */
export function sessionView(session: LiveSession, offset: number): SessionView {
  const { id, inbound, source = null, user = null, up, down, startedAt } = session;
  return { id, inbound, source, user, up, down, started_at: wallTime(offset + startedAt) };
}

/** @param offset from monotonic to wall time: see `StartTimes` */
export function flowView(flow: Flow, offset: number): FlowView {
  const { session, inbound, user = null, source = null, destination, sniffed = null } = flow.info;
  const { outbound, outboundVersion, rule = null, routingEpoch } = flow.info;
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
    plane_epoch: routingEpoch,
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
    inbounds: Object.fromEntries(figuresByTag(snapshot.inbounds)),
    outbounds: Object.fromEntries(figuresByTag(snapshot.outbounds)),
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

const figuresByTag = (
  tags: ReadonlyMap<string, TrafficFigures>,
): (readonly [string, TrafficFiguresView])[] =>
  Array.from(tags, ([tag, figures]) => [tag, figuresView(figures)]);

/** The first number past the range of u64, and the text of the last in it, which no number has. */
const BEYOND_U64 = 2 ** 64;
const LAST_U64 = '18446744073709551615';

/** Writes the view of a flow or session; a start past the range of u64 saturates. */
export const viewJson = (view: SessionView | FlowView): string =>
  view.started_at < BEYOND_U64
    ? text(view)
    : text({ ...view, started_at: LAST_U64 }).replace(
        `"started_at":"${LAST_U64}"`,
        `"started_at":${LAST_U64}`,
      );

/** Rounds down to milliseconds; a time before the epoch is 0. */
const wallTime = (time: number): number => Math.max(0, Math.floor(time));

const text = JSON.stringify;

/** A sample as JSON, whose tags keep their order: an object has names that look like integers first. */
export function trafficJson(snapshot: TrafficSnapshot): string {
  const { tick, intervalMs, inbounds, outbounds } = snapshot;
  const figures = text(figuresView(snapshot)).slice(1, -1);
  return (
    `{"tick":${tick},"interval_ms":${intervalMs},${figures},` +
    `"inbounds":${taggedJson(inbounds)},"outbounds":${taggedJson(outbounds)}}`
  );
}

const taggedJson = (tags: ReadonlyMap<string, TrafficFigures>): string =>
  `{${figuresByTag(tags)
    .map(([tag, figures]) => `${text(tag)}:${text(figures)}`)
    .join(',')}}`;

/* Routes are written field by field, so that no other property of the app's objects is exposed. */

export const defaultJson = ({ pick, target }: RouteView['default']): string =>
  text({ pick, target });

export const groupJson = ({ name, pick, inherit, target }: RouteGroupView): string =>
  text({ name, pick, inherit, target });

export const targetJson = ({ name, kind }: RouteTargetView): string => text({ name, kind });

/** The lists of a report, in output order. */
export const REPORT_LISTS = [
  'built',
  'swapped',
  'drained',
  'rebound',
  'restarted',
  'removed',
  'reused',
] as const satisfies readonly (keyof AppliedReport)[];

/*
 * Checks of bodies before clients read them as the types above: an address may belong to another server, and a foreign
 * body must be rejected here rather than fail somewhere in a page or a table.
 */

const isFlow = shape<FlowView>({
  id: isNumber,
  session: orNull(isNumber),
  network: isText,
  inbound: isText,
  user: orNull(isText),
  source: orNull(isText),
  host: isText,
  port: isNumber,
  sniffed: orNull(isText),
  outbound: isText,
  outbound_version: isNumber,
  rule: orNull(isNumber),
  plane_epoch: isNumber,
  started_at: isNumber,
  up: isNumber,
  down: isNumber,
});

const isSession = shape<SessionView>({
  id: isNumber,
  inbound: isText,
  source: orNull(isText),
  user: orNull(isText),
  up: isNumber,
  down: isNumber,
  started_at: isNumber,
});

const FIGURES = {
  up: isNumber,
  down: isNumber,
  up_rate: isNumber,
  down_rate: isNumber,
  flows: isNumber,
};

const isTraffic = shape<TrafficView>({
  ...FIGURES,
  tick: isNumber,
  interval_ms: isNumber,
  inbounds: recordOf(shape<TrafficFiguresView>(FIGURES)),
  outbounds: recordOf(shape<TrafficFiguresView>(FIGURES)),
});

const isRoutes = shape<RouteView>({
  default: shape<RouteView['default']>({ pick: orNull(isText), target: orNull(isText) }),
  groups: listOf(
    shape<RouteGroupView>({
      name: isText,
      pick: orNull(isText),
      inherit: (value) => isText(value) || shape({ group: isText })(value),
      target: orNull(isText),
    }),
  ),
  targets: listOf(shape<RouteTargetView>({ name: isText, kind: isText })),
});

const BODIES: Readonly<Record<string, Check>> = {
  'GET /v1/version': shape({ version: isText }),
  'GET /v1/routes': isRoutes,
  'GET /v1/connections': shape<ConnectionsView>({
    flows: listOf(isFlow),
    sessions: listOf(isSession),
  }),
};

const EVENTS: Readonly<Record<string, Check>> = {
  opened: isFlow,
  closed: isFlow,
  lagged: shape({ missed: isNumber }),
  traffic: isTraffic,
};

/** Whether the body of a successful response has the shape of the API's; responses without a check above pass. */
export const isBodyOf = (method: string, path: string, body: unknown): boolean =>
  BODIES[`${method} ${path}`]?.(body) ?? true;

/** Whether the data of an event has the shape of the API's; events without a check above pass. */
export const isDataOf = (event: string, data: unknown): boolean =>
  (Object.hasOwn(EVENTS, event) ? EVENTS[event]?.(data) : undefined) ?? true;
