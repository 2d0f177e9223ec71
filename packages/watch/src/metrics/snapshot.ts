import { setTimeout as sleep } from 'node:timers/promises';
import { type NamedUsage, usageByName } from '@weir/proxy/tracker';
import {
  requestStatus,
  requestUsage,
  type RunningStatus,
  type TagTraffic,
  type TrafficStatus,
} from '@weir/server/control';
import { asError } from '@weir/base';
import type { ApiClient } from '@weir/client/api';

/** Time limit for a source, in milliseconds. */
const SOURCE_MS = 3_000;
/** Time limit for finding Weir again, in milliseconds; a later result is used by the next snapshot. */
const FIND_MS = 2_000;
/** Time limit for a snapshot, in milliseconds: Prometheus waits for 10 s by default. */
const SNAPSHOT_MS = 8_000;

/** Milliseconds for which a snapshot is shared, so that the rate of scrapes does not determine Weir's load. */
const SHARED_MS = 200;

/** The sources of a running Weir's figures. */
export interface MetricSources {
  /** Path of the control socket; `undefined` when it is not known. */
  readonly socket: string | undefined;
  readonly api: ApiClient;
  /** Whether the API was named; if not, Weir may have none. */
  readonly isApiNamed: boolean;
  /** Whether figures by account are wanted. */
  readonly users: boolean;
}

/** Figures of a running Weir at one time. */
export interface MetricSnapshot {
  /** Status from the control socket. */
  readonly status: RunningStatus | undefined;
  /** Usage by account, if wanted, from the control socket. */
  readonly users: readonly NamedUsage[] | undefined;
  /** Traffic from the API, when the control socket does not respond. */
  readonly traffic: (TrafficStatus & { readonly flows: number }) | undefined;
  /** Whether each known source responds. */
  readonly reached: ReadonlyMap<'socket' | 'api', boolean>;
  readonly seconds: number;
  /** Why the control socket, if one is known, does not respond. */
  readonly problem: Error | undefined;
}

/** A snapshot that is complete or being taken. */
interface Taken {
  /** When taking it began, by `performance.now`. */
  readonly at: number;
  readonly snapshot: Promise<MetricSnapshot>;
  isComplete: boolean;
}

/** Takes snapshots; concurrent scrapes share one. */
export class SnapshotTaker {
  readonly #find: () => Promise<MetricSources>;
  #sources: MetricSources;
  #finding: Promise<void> | undefined;
  #last: Taken | undefined;

  /**
   * @param find called when the control socket does not respond: a restarted Weir may have another. Must not reject.
   */
  constructor(sources: MetricSources, find: () => Promise<MetricSources>) {
    this.#sources = sources;
    this.#find = find;
  }

  take(): Promise<MetricSnapshot> {
    const at = performance.now();
    const last = this.#last;
    if (last && (!last.isComplete || at - last.at < SHARED_MS)) return last.snapshot;
    const snapshot = this.#take(at).finally(() => (taken.isComplete = true));
    const taken: Taken = { at, snapshot, isComplete: false };
    this.#last = taken;
    return snapshot;
  }

  async #take(start: number): Promise<MetricSnapshot> {
    const limit = (): number =>
      Math.ceil(Math.max(1, Math.min(SOURCE_MS, start + SNAPSHOT_MS - performance.now())));
    const known = this.#sources;
    let figures = await readFigures(known, limit);
    if (figures.status === undefined) {
      await this.#findAgain();
      if (known.socket !== this.#sources.socket) figures = await readFigures(this.#sources, limit);
    }
    return { ...figures, seconds: (performance.now() - start) / 1000 };
  }

  async #findAgain(): Promise<void> {
    this.#finding ??= this.#find().then((sources) => {
      this.#sources = sources;
      this.#finding = undefined;
    });
    const stopped = new AbortController();
    const { signal } = stopped;
    const waited = sleep(FIND_MS, undefined, { signal }).catch(() => undefined);
    await Promise.race([this.#finding, waited]);
    stopped.abort();
  }
}

/** Requests the figures. @param limit returns the milliseconds that a request may take */
async function readFigures(
  { socket, api, isApiNamed, users: isByUser }: MetricSources,
  limit: () => number,
): Promise<Omit<MetricSnapshot, 'seconds'>> {
  let problem: Error | undefined;
  const [status, isApiUp] = await Promise.all([
    socket === undefined
      ? undefined
      : requestStatus(socket, limit()).catch((error: unknown) => void (problem = asError(error))),
    responds(api, limit()),
  ]);
  const reached = new Map<'socket' | 'api', boolean>();
  if (socket !== undefined) reached.set('socket', status !== undefined);
  const hasApi = isApiNamed || typeof status?.api === 'string';
  if (hasApi || (isApiUp && !status)) reached.set('api', isApiUp);
  const traffic = !status && isApiUp ? await readTraffic(api, limit()) : undefined;
  const users =
    status && socket !== undefined && isByUser ? await readUsers(socket, limit()) : undefined;
  return { status: status ?? undefined, users, traffic, reached, problem };
}

/** Usage by account since the start; an older Weir reports none. */
async function readUsers(
  socket: string,
  limitMs: number,
): Promise<readonly NamedUsage[] | undefined> {
  try {
    const report = await requestUsage(socket, { by: ['user'] }, AbortSignal.timeout(limitMs));
    return usageByName(report, 'user');
  } catch {
    return undefined;
  }
}

async function responds(api: ApiClient, limitMs: number): Promise<boolean> {
  try {
    const version = await api.ask('GET', '/v1/version', { signal: AbortSignal.timeout(limitMs) });
    return typeof version === 'object' && version !== null && 'version' in version;
  } catch {
    return false;
  }
}

/** The next traffic sample of the API, which sends one every second. */
async function readTraffic(api: ApiClient, limitMs: number): Promise<MetricSnapshot['traffic']> {
  try {
    const parts = { signal: AbortSignal.timeout(limitMs) };
    for await (const { data } of api.events('/v1/traffic', parts)) return toTraffic(data);
  } catch {
    // The API has become unreachable, so there are no figures.
  }
  return undefined;
}

function toTraffic(data: unknown): MetricSnapshot['traffic'] {
  const { up, down, flows, inbounds, outbounds } = recordOf(data);
  if (typeof up !== 'number' || typeof down !== 'number' || typeof flows !== 'number')
    return undefined;
  return { up, down, flows, inbounds: toTags(inbounds), outbounds: toTags(outbounds) };
}

const toTags = (value: unknown): readonly TagTraffic[] =>
  Object.entries(recordOf(value)).flatMap(([tag, figures]) => {
    const { up, down, flows } = recordOf(figures);
    const isWhole = [up, down, flows].every((each) => typeof each === 'number');
    return isWhole ? [{ tag, up: Number(up), down: Number(down), flows: Number(flows) }] : [];
  });

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {};
