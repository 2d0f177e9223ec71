import type { FlowView, SessionView } from '@weir/server/api/views';
import type { RouteView } from '@weir/config/route-view';
import type { RunningStatus } from '@weir/server/control';
import type { WeirError } from '@weir/base';

/**
 * The state of a running Weir, kept current by one event stream, one traffic stream, and requests at a bounded rate
 * while it is held. All times are Unix milliseconds of this process.
 */
export interface Monitor {
  /** Flows by id, in the order of their ids; closed flows stay for `CLOSED_MS`. */
  readonly flows: ReadonlyMap<number, MonitoredFlow>;
  /** Sessions of the last list, by id. */
  readonly sessions: ReadonlyMap<number, SessionView>;
  /** The last sample; `undefined` before the first, and while the API is lost. */
  readonly traffic: TrafficSample | undefined;
  /** Rates of the last two minutes by the second and of the last hour by half minutes, oldest first. */
  readonly history: TrafficHistory;
  /** The last response to `GET /v1/routes`. */
  readonly routes: Dated<{ readonly view: RouteView; readonly etag: string }> | undefined;
  /** Why the last request for the routes failed on the files on disk; `routes` is then older. */
  readonly routesError: WeirError | undefined;
  /** The version of the running Weir. */
  readonly version: string | undefined;
  /** The last response to `status` of the control socket. */
  readonly status: Dated<RunningStatus> | undefined;
  readonly api: Reachability;
  readonly socket: Reachability;
  /** Number of flow events missed since this process started watching: sums over flows lack them. */
  readonly missed: number;
  /** When the last complete list of flows was requested; `undefined` before the first. */
  readonly listedAt: number | undefined;

  /** Keeps everything current until disposed; without a hold nothing is requested. */
  hold(): Disposable;
  /** Calls `listener` after changes, at most once in `TURN_MS`, until disposed. */
  onChange(listener: () => void): Disposable;
  /** Requests routes and status again, after an action that has changed them. */
  refresh(): Promise<void>;
}

export interface MonitoredFlow {
  readonly view: FlowView;
  /** Bytes per second, averaged between the last two lists. */
  readonly upRate: number;
  readonly downRate: number;
  /** `undefined` while it is open. */
  readonly closedAt: number | undefined;
}

export interface Dated<T> {
  readonly value: T;
  readonly at: number;
}

/** Reachability of a source of data. */
export type Reachability =
  /** Not requested yet. */
  | { readonly kind: 'connecting' }
  | { readonly kind: 'reached' }
  /** Neither named nor found: there is no `[api]`, or no control socket. */
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'lost';
      readonly cause: LostCause;
      readonly error: WeirError;
      readonly since: number;
    };

/** The cause of a loss. Each has its own text and next step wherever it is shown. */
export type LostCause =
  /** Nothing listens there. */
  | 'refused'
  /** Another server than Weir responds. */
  | 'other-server'
  /** The secret is missing or wrong. */
  | 'unauthorized'
  /** The permissions of the socket deny access. */
  | 'forbidden'
  /** It was reached before and has ended; it may be restarting. */
  | 'ended'
  | 'other';

export interface TrafficSample {
  readonly at: number;
  readonly tick: number;
  /** Bytes since the start of Weir. */
  readonly up: number;
  readonly down: number;
  /** Bytes per second. */
  readonly upRate: number;
  readonly downRate: number;
  readonly flows: number;
  readonly inbounds: ReadonlyMap<string, TrafficPart>;
  readonly outbounds: ReadonlyMap<string, TrafficPart>;
}

export type TrafficPart = Pick<TrafficSample, 'up' | 'down' | 'upRate' | 'downRate' | 'flows'>;

export interface TrafficHistory {
  readonly seconds: readonly RatePoint[];
  readonly halfMinutes: readonly RatePoint[];
}

export interface RatePoint {
  readonly at: number;
  /** Bytes per second. */
  readonly up: number;
  readonly down: number;
  readonly flows: number;
}
