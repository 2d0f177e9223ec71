import type { FlowJson, SessionJson } from '../client/api-views.ts';
import type { RouteView } from '../config/route-view.ts';
import type { RunningStatus } from '../app/control/running-status.ts';
import type { WeirError } from '../errors.ts';

/**
 * What a program knows of a running Weir, kept current by one event stream, one traffic stream, and requests at
 * a bounded pace while it is held. All times are Unix milliseconds of this process.
 */
export interface Monitor {
  /** Flows by id, in the order of their ids; those that have closed stay for `CLOSED_MS`. */
  readonly flows: ReadonlyMap<number, MonitoredFlow>;
  /** Sessions by id, of the last list. */
  readonly sessions: ReadonlyMap<number, SessionJson>;
  /** The last sample; `undefined` before the first and while the API is lost. */
  readonly traffic: TrafficSample | undefined;
  /** Two minutes by the second and an hour by half minutes, oldest first. */
  readonly history: TrafficHistory;
  /** The last answer of `GET /v1/routes`. */
  readonly routes: Dated<{ readonly view: RouteView; readonly etag: string }> | undefined;
  /** Why the files on disk could not be described the last time; `routes` are then older. */
  readonly routesError: WeirError | undefined;
  /** The version of the running Weir. */
  readonly version: string | undefined;
  /** The last answer to `status` of the control socket. */
  readonly status: Dated<RunningStatus> | undefined;
  readonly api: Reachability;
  readonly socket: Reachability;
  /** Flow events that were missed since this process began to watch: sums over flows fall short by those. */
  readonly missed: number;
  /** When the list of flows was complete the last time; `undefined` before the first list. */
  readonly listedAt: number | undefined;

  /** Keeps everything current until disposed; without such a hold nothing is requested. */
  hold(): Disposable;
  /** Called after changes, at most once in `TURN_MS`. */
  onChange(listener: () => void): Disposable;
  /** Requests routes and status again, after an action that has changed them. */
  refresh(): Promise<void>;
}

export interface MonitoredFlow {
  readonly view: FlowJson;
  /** Bytes per second, between the last two lists. */
  readonly upRate: number;
  readonly downRate: number;
  /** `undefined` while it is open. */
  readonly closedAt: number | undefined;
}

export interface Dated<T> {
  readonly value: T;
  readonly at: number;
}

/** Whether a source of data can be reached. */
export type Reachability =
  /** Not asked yet. */
  | { readonly kind: 'connecting' }
  | { readonly kind: 'reached' }
  /** Not given and not found: no `[api]`, no control socket. */
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'lost';
      readonly cause: LostCause;
      readonly error: WeirError;
      readonly since: number;
    };

/** Each has a text and a next step of its own wherever it is shown. */
export type LostCause =
  /** Nothing listens there. */
  | 'refused'
  /** Something else than Weir answers. */
  | 'other-server'
  /** The secret is missing or wrong. */
  | 'unauthorized'
  /** The permissions of the socket. */
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
