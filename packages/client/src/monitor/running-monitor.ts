import { Holds, Listeners } from '@weir/base/collections';
import { ApiClientError, type ApiClient, type ApiEvent } from '../client/api-client.ts';
import type { RunningWeir } from '../client/find-running.ts';
import type {
  FlowView,
  SessionView,
  TrafficView,
  TrafficFiguresView,
} from '@weir/server/api/views';
import { requestStatus, type RunningStatus } from '@weir/server/control';
import type { RouteView } from '@weir/config/route-view';
import { WeirError, messageOf } from '@weir/base';
import { systemClock, type Clock, type Timer } from '@weir/io/time';
import type {
  Dated,
  Monitor,
  MonitoredFlow,
  Reachability,
  TrafficPart,
  TrafficSample,
} from './contract.ts';
import { MonitoredFlows } from './monitored-flows.ts';
import {
  FIND_MS,
  LIST_MS,
  listPeriod,
  MOST_OPEN,
  RETRY_MS,
  ROUTES_MS,
  STATUS_MS,
  TURN_MS,
} from './limits.ts';
import { lostCause } from './lost-cause.ts';
import { pause } from './pause.ts';
import { RateHistory } from './traffic-history.ts';

export interface MonitorSources {
  readonly api: Pick<ApiClient, 'ask' | 'askTagged' | 'events'>;
  /** Requests `status` of the control socket; resolves with `undefined` while there is none. */
  readonly status: () => Promise<RunningStatus | undefined>;
  /** Called after a loss, before the next attempt: a restarted Weir may have other addresses. */
  readonly findAgain?: () => Promise<void>;
  readonly clock: Clock;
}

/** A monitor over the API and the control socket of a running Weir. */
export class RunningMonitor implements Monitor {
  readonly #sources: MonitorSources;
  readonly #table = new MonitoredFlows();
  readonly history = new RateHistory();
  readonly #listeners = new Listeners();
  readonly #holds = new Holds(
    () => this.#start(),
    () => this.#stop(),
  );
  routes: Monitor['routes'];
  routesError: WeirError | undefined;
  status: Dated<RunningStatus> | undefined;
  traffic: TrafficSample | undefined;
  version: string | undefined;
  api: Reachability = { kind: 'connecting' };
  socket: Reachability = { kind: 'connecting' };
  missed = 0;
  /** Aborted when the last hold is disposed. */
  #watch: AbortController | undefined;
  #turn: Timer | undefined;
  /** Ids of flows that opened since the last list was requested. */
  readonly #openedSince = new Set<number>();
  #epoch: number | undefined;
  /** Aborted to request the routes, or the flows, before their next regular time. */
  #routesDue = new AbortController();
  #listDue = new AbortController();

  /** A monitor of the Weir that `findRunning` has found. */
  static of(running: RunningWeir, clock: Clock = systemClock): RunningMonitor {
    return new RunningMonitor({
      api: running.api,
      status: async () => {
        const { socket } = running;
        return socket === undefined ? undefined : requestStatus(socket);
      },
      findAgain: () => running.findAgain(),
      clock,
    });
  }

  constructor(sources: MonitorSources) {
    this.#sources = sources;
  }

  get flows(): ReadonlyMap<number, MonitoredFlow> {
    return this.#table.flows;
  }

  get sessions(): ReadonlyMap<number, SessionView> {
    return this.#table.sessions;
  }

  get listedAt(): number | undefined {
    return this.#table.listedAt;
  }

  hold(): Disposable {
    return this.#holds.hold();
  }

  onChange(listener: () => void): Disposable {
    return this.#listeners.add(listener);
  }

  async refresh(): Promise<void> {
    await Promise.all([this.#askRoutes(), this.#askStatus()]);
  }

  #start(): void {
    this.#watch = new AbortController();
    const { signal } = this.#watch;
    void this.#watchApi(signal);
    void this.#watchStatus(signal);
  }

  #stop(): void {
    this.#watch?.abort();
    this.#watch = undefined;
    this.#turn?.cancel();
    this.#turn = undefined;
    // Without a hold the traffic is not known.
    this.traffic = undefined;
  }

  /** Connects to the API, and reconnects after each loss, until `signal` aborts. */
  async #watchApi(signal: AbortSignal): Promise<void> {
    const { clock } = this.#sources;
    let delay: number = RETRY_MS.first;
    while (!signal.aborted) {
      const attempt = new AbortController();
      const both = AbortSignal.any([signal, attempt.signal]);
      const works = [
        this.#followEvents(both),
        this.#followTraffic(both),
        this.#listFlows(both, () => void (delay = RETRY_MS.first)),
        this.#followRoutes(both),
      ];
      try {
        await Promise.race(works); // all of them end only with an error
      } catch (error) {
        if (!signal.aborted) this.#lose(error);
      } finally {
        attempt.abort();
        await Promise.allSettled(works);
      }
      await pause(clock, delay, signal);
      delay = Math.min(RETRY_MS.most, delay * 2);
      await this.#findAgain(signal);
    }
  }

  async #findAgain(signal: AbortSignal): Promise<void> {
    // It fails for the reasons of the first search, such as several processes; the loss of the source is known
    // already.
    if (!signal.aborted) await this.#sources.findAgain?.().catch(() => undefined);
  }

  async #followEvents(signal: AbortSignal): Promise<void> {
    for await (const event of this.#events('/v1/connections/events', signal)) {
      this.#takeEvent(event);
      this.#changed();
    }
  }

  #takeEvent({ event, data }: ApiEvent): void {
    switch (event) {
      case 'opened': {
        const view = data as FlowView;
        if (this.#table.openCount >= MOST_OPEN) throw tooMany();
        this.#openedSince.add(view.id);
        this.#table.opened(view);
        this.#takeEpoch(view.plane_epoch);
        break;
      }
      case 'closed':
        this.#table.closed(data as FlowView, this.#now);
        break;
      case 'lagged':
        this.missed += (data as { readonly missed: number }).missed;
        this.#listDue.abort();
        break;
      default:
    }
  }

  /** Records the epoch of the routing snapshot; routes may have changed with it. */
  #takeEpoch(epoch: number): void {
    if (this.#epoch !== undefined && epoch > this.#epoch) this.#routesDue.abort();
    this.#epoch = Math.max(epoch, this.#epoch ?? 0);
  }

  async #followTraffic(signal: AbortSignal): Promise<void> {
    for await (const { event, data } of this.#events('/v1/traffic', signal)) {
      if (event !== 'traffic') continue;
      this.traffic = sampleOf(data as TrafficView, this.#now);
      this.history.add(this.traffic);
      this.#table.expire(this.#now);
      this.#changed();
    }
  }

  async *#events(path: string, signal: AbortSignal): AsyncGenerator<ApiEvent> {
    yield* this.#sources.api.events(path, { signal });
    throw new ApiClientError('the API ended the stream');
  }

  /** Lists the flows regularly. @param reached called after each list */
  async #listFlows(signal: AbortSignal, reached: () => void): Promise<void> {
    const { api, clock } = this.#sources;
    const version = (await api.ask('GET', '/v1/version', { signal })) as {
      readonly version?: unknown;
    };
    if (typeof version?.version !== 'string') throw notTheApi();
    this.version = version.version;
    while (!signal.aborted) {
      await this.#listOnce(signal);
      this.api = { kind: 'reached' };
      reached();
      this.#changed();
      const period = listPeriod(this.#table.openCount);
      // At most one list per second, even if a loss follows each.
      await pause(clock, Math.min(period, LIST_MS), signal);
      await pause(clock, period - LIST_MS, AbortSignal.any([signal, this.#listDue.signal]));
      if (this.#listDue.signal.aborted) this.#listDue = new AbortController();
    }
  }

  /**
   * Lists the flows once. In a function of its own: a suspended caller would keep a list of several megabytes alive
   * until the next one.
   */
  async #listOnce(signal: AbortSignal): Promise<void> {
    const requestedAt = this.#now;
    this.#openedSince.clear();
    const body = await this.#sources.api.ask('GET', '/v1/connections', { signal });
    if (!isList(body)) throw notTheApi();
    this.#table.list(body, requestedAt, this.#openedSince);
  }

  async #followRoutes(signal: AbortSignal): Promise<void> {
    const { clock } = this.#sources;
    while (!signal.aborted) {
      const hasNewPlane = this.#routesDue.signal.aborted;
      if (hasNewPlane) this.#routesDue = new AbortController();
      const tag = hasNewPlane ? undefined : await this.#currentTag(signal);
      if (tag === undefined || tag !== this.routes?.value.etag) await this.#askRoutes(signal);
      await pause(clock, ROUTES_MS, AbortSignal.any([signal, this.#routesDue.signal]));
    }
  }

  /** The entity tag of the configuration file; `undefined` for a response without one. */
  async #currentTag(signal: AbortSignal): Promise<string | undefined> {
    try {
      return (await this.#sources.api.askTagged('HEAD', '/v1/routes', { signal })).etag;
    } catch (error) {
      if (error instanceof ApiClientError && (error.status ?? 0) >= 422) return undefined;
      throw error;
    }
  }

  /** Requests the routes. @throws {ApiClientError} unless the error is about the files on disk */
  async #askRoutes(signal?: AbortSignal): Promise<void> {
    try {
      const { api } = this.#sources;
      const { body, etag } = await api.askTagged('GET', '/v1/routes', signal ? { signal } : {});
      if (etag === undefined) throw notTheApi();
      this.routes = { value: { view: body as RouteView, etag }, at: this.#now };
      this.routesError = undefined;
    } catch (error) {
      if (!(error instanceof ApiClientError) || (error.status ?? 0) < 422) throw error;
      this.routesError = error;
    }
    this.#changed();
  }

  async #watchStatus(signal: AbortSignal): Promise<void> {
    let foundAt = this.#now;
    while (!signal.aborted) {
      await this.#askStatus();
      await pause(this.#sources.clock, STATUS_MS, signal);
      if (this.socket.kind === 'reached' || this.#now - foundAt < FIND_MS) continue;
      foundAt = this.#now;
      await this.#findAgain(signal);
    }
  }

  async #askStatus(): Promise<void> {
    try {
      const value = await this.#sources.status();
      if (!value) {
        this.socket = { kind: 'absent' };
        this.#changed();
        return;
      }
      // The old process may still respond after its API has ended.
      if (value.started_at !== this.status?.value.started_at) this.#epoch = undefined;
      this.status = { value, at: this.#now };
      this.version = value.version;
      this.socket = { kind: 'reached' };
      this.#takeEpoch(value.plane_epoch);
      // The API was tried at its default address before this was known.
      if (value.api === null && this.api.kind === 'lost') this.api = { kind: 'absent' };
    } catch (error) {
      this.socket = this.#lost(this.socket, error, this.status !== undefined);
    }
    this.#changed();
  }

  #lose(error: unknown): void {
    const wasReached = this.#table.listedAt !== undefined;
    this.api =
      this.status?.value.api === null && this.socket.kind === 'reached'
        ? { kind: 'absent' }
        : this.#lost(this.api, error, wasReached);
    this.traffic = undefined;
    // After a loss another process may respond, whose epochs start again.
    this.#epoch = undefined;
    this.#changed();
  }

  #lost(before: Reachability, error: unknown, wasReached: boolean): Reachability {
    return {
      kind: 'lost',
      cause: lostCause(error, wasReached),
      error: error instanceof WeirError ? error : new WeirError('monitor', messageOf(error)),
      since: before.kind === 'lost' ? before.since : this.#now,
    };
  }

  #changed(): void {
    if (this.#turn || !this.#watch) return;
    this.#turn = this.#sources.clock.after(TURN_MS, () => {
      this.#turn = undefined;
      this.#listeners.call();
    });
  }

  get #now(): number {
    return this.#sources.clock.wall();
  }
}

const notTheApi = (): ApiClientError =>
  new ApiClientError('the server is not the API of Weir', { status: 0 });

const tooMany = (): ApiClientError =>
  new ApiClientError(`the API tells of more than ${MOST_OPEN} open flows`, {
    hint: 'see whether its address is that of Weir',
  });

const isList = (
  body: unknown,
): body is { readonly flows: readonly FlowView[]; readonly sessions: readonly SessionView[] } =>
  typeof body === 'object' &&
  body !== null &&
  'flows' in body &&
  Array.isArray(body.flows) &&
  'sessions' in body &&
  Array.isArray(body.sessions);

const sampleOf = (json: TrafficView, at: number): TrafficSample => ({
  at,
  tick: json.tick,
  ...partOf(json),
  inbounds: partsOf(json.inbounds),
  outbounds: partsOf(json.outbounds),
});

const partsOf = (
  parts: Readonly<Record<string, TrafficFiguresView>>,
): ReadonlyMap<string, TrafficPart> =>
  new Map(Object.entries(parts).map(([tag, part]) => [tag, partOf(part)]));

const partOf = ({ up, down, up_rate: upRate, down_rate: downRate, flows }: TrafficFiguresView) => ({
  up,
  down,
  upRate,
  downRate,
  flows,
});
