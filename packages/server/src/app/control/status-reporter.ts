import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { messageOf, VERSION } from '@weir/base';
import type { Logger, RecentLines } from '@weir/base/log';
import { quoted } from '@weir/base/printable';
import { counted } from '@weir/base/text/amounts';
import { ConfigError } from '@weir/config';
import { residentBytes } from '@weir/io/process';
import { openDescriptors, systemSockets } from '@weir/io/sockets';
import { killFlows, type TrafficSnapshot } from '@weir/proxy/tracker';
import { ControlError } from '../../api/contract.ts';
import {
  type ControlFailed,
  type DrainReport,
  failed,
  isUserFlowsRequest,
  type LoadedFile,
  type LoadedFiles,
  type RunningDrain,
  toDrainAction,
  type UserFlowsResponse,
} from './messages.ts';
import type {
  BalancerStatus,
  EventLoopStatus,
  InboundStatus,
  LastReload,
  LimitStatus,
  MemoryStatus,
  ProcessorStatus,
  ReloadCounts,
  ReloadPlace,
  RoutesStatus,
  RunningStatus,
  SocketsStatus,
  TagTraffic,
  TakenRule,
  TakenRules,
  TrafficStatus,
} from './running-status.ts';
import type { Instance } from '../instance.ts';
import type { ReloadOutcome } from '../outcomes.ts';

/** Handles `drain`. */
export async function answerDrain(
  text: string,
  instance: Pick<Instance, 'drain' | 'takeBackDrain' | 'supervisor'>,
): Promise<DrainReport | ControlFailed> {
  const action = toDrainAction(text);
  if (action === undefined) return failed('expected begin, undo or show');
  try {
    if (action === 'begin') await instance.drain();
    if (action === 'undo') await instance.takeBackDrain();
  } catch (error) {
    return failed(`the drain goes on: ${messageOf(error)}`);
  }
  return drainStatus(instance);
}

/** The drain of a process, as reported to clients. */
export function drainStatus({ supervisor }: Pick<Instance, 'supervisor'>): DrainReport {
  const { since = null, remains } = supervisor.drain;
  const { flows, sessions, handshakes, deviceFlows } = remains;
  return { kind: 'drain', since, flows, sessions, handshakes, device_flows: deviceFlows };
}

/** Maximum number of files compared for one request; a configuration also names the files of its certificates. */
const MAX_FILES = 64;

/** Handles `loaded-files`: reads the files again, one after the other. */
export async function answerLoadedFiles({
  loadedFiles,
}: Pick<Instance, 'loadedFiles'>): Promise<LoadedFiles> {
  const files: LoadedFile[] = [];
  const { length: count } = loadedFiles.paths;
  for await (const { path, isSame } of loadedFiles.compared()) {
    files.push({ path: resolve(path), state: isSame ? 'same' : 'changed' });
    if (files.length === MAX_FILES) break;
  }
  return { files, more: count - files.length };
}

/** Handles `user-flows`; an invalid request matches no flows. */
export async function answerUserFlows(
  request: unknown,
  {
    instance: { tracker },
    log,
  }: { readonly instance: Pick<Instance, 'tracker'>; readonly log: Logger },
): Promise<UserFlowsResponse> {
  if (!isUserFlowsRequest(request)) return { kind: 'flows', count: 0 };
  const { inbound, user, removed, close } = request;
  const flows = tracker
    .flows()
    .filter(
      ({ info, killed }) =>
        !killed &&
        info.inbound === inbound &&
        (user === undefined || info.user === user) &&
        (!removed || info.account?.isValid === false),
    );
  if (!close) return { kind: 'flows', count: flows.length };
  const { count, ended } = killFlows(flows);
  await ended;
  const whose = user === undefined ? 'users' : `the user ${quoted(user)}`;
  log
    .target('svc_app::instance')
    .info(
      `closed ${counted(count, 'flow')} of ${removed ? 'removed accounts of ' : ''}${whose} of inbound ${quoted(inbound)}`,
    );
  return { kind: 'flows', count };
}

/** The process that a control socket serves: its instance, and its log. */
export interface ControlledProcess {
  readonly instance: Instance;
  readonly log: Logger;
  readonly recent: RecentLines;
  /** @throws {RangeError} for a text that is not a filter */
  readonly setFilter: (text: string) => void;
  /** The current filter of the log. */
  readonly logFilter: () => string;
  /** Number of log lines that were lost since the start. */
  readonly linesLost: () => number;
  /** The path as given; `undefined` for the built-in configuration. */
  readonly configPath: string | undefined;
}

/** Parts of a status that the request handlers keep. */
export interface StatusParts {
  readonly lastReload: EndedReload | undefined;
  readonly reloads: ReloadCounts;
  /** Number of log lines that slow followers have missed since the start. */
  readonly followedLost: number;
}

/** A reload that has ended; `error` is the error of a failed one. */
export interface EndedReload {
  /** Unix milliseconds. */
  readonly at: number;
  readonly outcome: ReloadOutcome;
  readonly error: unknown;
}

/** Interval of the histogram's native timer; finer ones cost more without more information. */
const LOOP_RESOLUTION_MS = 10;

/** Settings of inbounds that limit their sessions or flows, with their keys in the configuration. */
const BOUNDS = [
  { setting: 'maxConnections', key: 'max_connections', of: 'sessions' },
  { setting: 'maxCircuits', key: 'max_circuits', of: 'flows' },
  { setting: 'maxFlows', key: 'max_flows', of: 'flows' },
] as const;

/** Maximum number of rules in a response, which has a line for each and is requested every two seconds. */
const MOST_TAKEN = 1000;

const flowsOf = ({ opened, blocked, failed }: TakenRule): number => opened + blocked + failed;
const byFlows = (a: TakenRule, b: TakenRule): number => flowsOf(b) - flowsOf(a);
/** Compares rules by index; the default route is last, as in matching. */
const byIndex = (a: TakenRule, b: TakenRule): number => (a.rule ?? Infinity) - (b.rule ?? Infinity);

/** Handles `status` on the control socket; measures the event loop from the first request on. */
export class StatusReporter {
  readonly #process: ControlledProcess;
  #loop:
    | { readonly since: number; readonly delays: ReturnType<typeof monitorEventLoopDelay> }
    | undefined;
  /** The largest sum of delays reported so far. */
  #loopSum = 0;

  constructor(process: ControlledProcess) {
    this.#process = process;
  }

  async report({ lastReload, reloads, followedLost }: StatusParts): Promise<RunningStatus> {
    const { instance, configPath, linesLost, logFilter } = this.#process;
    const { supervisor, tracker } = instance;
    const inbounds = this.#inbounds();
    return {
      version: VERSION,
      build: instance.build ?? null,
      pid: process.pid,
      config: configPath === undefined ? null : resolve(configPath),
      started_at: Math.round(performance.timeOrigin),
      node: process.version,
      sockets: socketsStatus(),
      api: instance.apiAddress ?? null,
      plane_epoch: supervisor.routing.epoch,
      inbounds,
      balancers: this.#balancers(),
      routes: this.#routes(),
      sessions: tracker.sessionCount,
      flows: tracker.flowCount,
      sessions_opened: tracker.sessionsOpened,
      flows_opened: tracker.flowsOpened,
      flows_blocked: tracker.outcomes.blocked,
      flows_failed: tracker.outcomes.failed,
      flows_limited: tracker.outcomes.limited,
      failed_dials: Array.from(tracker.outcomes.failedDials, ([outbound, dials]) => ({
        outbound,
        dials,
      })),
      traffic: trafficStatus(tracker.traffic.latest),
      limits: await this.#limits(inbounds),
      account_limits: instance.limits?.status() ?? null,
      memory: memoryStatus(),
      processor: processorStatus(),
      event_loop: this.#eventLoop(),
      last_reload: lastReload ? toLastReload(lastReload) : null,
      log_filter: logFilter(),
      reloads,
      drain: this.#drain(),
      missed: {
        events: tracker.events.missed,
        log_lines: linesLost(),
        followed_lines: followedLost,
      },
    };
  }

  #drain(): RunningDrain | null {
    const { kind: _, since, ...remains } = drainStatus(this.#process.instance);
    return since === null ? null : { since, ...remains };
  }

  #inbounds(): readonly InboundStatus[] {
    const { supervisor, tracker } = this.#process.instance;
    const sessions = countedBy(tracker.sessions(), ({ inbound }) => inbound);
    const flows = countedBy(tracker.flows(), ({ info }) => info.inbound);
    const protocols = new Map(
      supervisor.applied?.spec.inbounds.map(({ tag, protocol }) => [tag, protocol]),
    );
    return [...supervisor.running.inbounds].map(([tag, { listener }]) => ({
      tag,
      protocol: protocols.get(tag) ?? '',
      address: listener.address,
      sessions: sessions.get(tag) ?? 0,
      flows: flows.get(tag) ?? 0,
    }));
  }

  #balancers(): readonly BalancerStatus[] {
    const { supervisor, clock } = this.#process.instance;
    const offset = clock.wall() - clock.now();
    const { balancers } = supervisor.running;
    return (supervisor.applied?.spec.balancers ?? []).map(({ tag, strategy }) => ({
      tag,
      strategy,
      members: (balancers.get(tag)?.members ?? []).map(({ outbound, result }) => ({
        outbound,
        health: result.health,
        probed_at: result.probedAt === undefined ? null : Math.round(offset + result.probedAt),
        error: result.error ?? null,
      })),
    }));
  }

  #routes(): RoutesStatus {
    const { rulesSince, groups } = this.#process.instance.supervisor.routing;
    return {
      rules_since: rulesSince,
      groups: groups.map(({ name, firstRule, rules }) => ({ name, first_rule: firstRule, rules })),
      taken: this.#taken(),
    };
  }

  #taken(): TakenRules {
    const { tracker, clock } = this.#process.instance;
    const { outcomes } = tracker;
    const offset = clock.wall() - clock.now();
    const all = Array.from(outcomes.rules(), ([rule = null, { lastAt, ...counts }]): TakenRule => ({
      rule,
      ...counts,
      last_at: Math.round(offset + lastAt),
    }));
    const most = all.length > MOST_TAKEN ? all.sort(byFlows).slice(0, MOST_TAKEN) : all;
    return {
      since: Math.round(offset + outcomes.since),
      rules: most.sort(byIndex),
      more: all.length - most.length,
    };
  }

  async #limits(inbounds: readonly InboundStatus[]): Promise<readonly LimitStatus[]> {
    const { supervisor } = this.#process.instance;
    const { count, limit } = supervisor.unauthenticated;
    const limits: LimitStatus[] = [{ name: 'unauthenticated clients', used: count, limit }];
    const { descriptorLimit } = systemSockets();
    const open = Number.isFinite(descriptorLimit) ? await openFiles() : undefined;
    if (open !== undefined) limits.push({ name: 'open files', used: open, limit: descriptorLimit });
    const counts = new Map(inbounds.map((inbound) => [inbound.tag, inbound]));
    for (const { tag, settings } of supervisor.applied?.spec.inbounds ?? []) {
      for (const { setting, key, of } of BOUNDS) {
        const bound = numberIn(settings, setting);
        if (bound === undefined) continue;
        limits.push({
          name: `inbound ${tag}: ${key}`,
          used: counts.get(tag)?.[of] ?? 0,
          limit: bound,
        });
      }
    }
    return limits;
  }

  #eventLoop(): EventLoopStatus | null {
    if (!this.#loop) {
      const delays = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
      delays.enable();
      this.#loop = { since: Date.now(), delays };
      return null;
    }
    const { since, delays } = this.#loop;
    if (delays.count === 0) return null;
    // The histogram includes the interval of its timer.
    const late = (nanoseconds: number): number =>
      Math.max(0, Math.round(nanoseconds / 1e4) / 100 - LOOP_RESOLUTION_MS);
    const [p50, p99, max] = [delays.percentile(50), delays.percentile(99), delays.max].map(late);
    const { count } = delays;
    // libuv's timers count whole milliseconds: an interval after a late one is up to one shorter. A decreasing sum
    // would count as a restarted counter.
    this.#loopSum = Math.max(this.#loopSum, (delays.mean / 1e6 - LOOP_RESOLUTION_MS) * count);
    return { since, p50: p50 ?? 0, p99: p99 ?? 0, max: max ?? 0, count, sum: this.#loopSum };
  }
}

function socketsStatus(): SocketsStatus {
  const { kind, reason } = systemSockets();
  return { kind, reason: kind === 'kernel' ? null : (reason ?? null) };
}

function memoryStatus(): MemoryStatus {
  // Not `process.memoryUsage`, which throws where the resident memory cannot be read.
  const { used_heap_size, total_heap_size, external_memory } = getHeapStatistics();
  return {
    resident: residentBytes(),
    heap_used: used_heap_size,
    heap_total: total_heap_size,
    external: external_memory,
  };
}

/** Processor time in milliseconds, from Node's microseconds. */
function processorStatus(): ProcessorStatus {
  const { user, system } = process.cpuUsage();
  return { user: user / 1000, system: system / 1000 };
}

const EMPTY_TRAFFIC: TrafficStatus = { up: 0, down: 0, inbounds: [], outbounds: [] };

function trafficStatus(sample: TrafficSnapshot | undefined): TrafficStatus {
  if (!sample) return EMPTY_TRAFFIC;
  const { up, down, inbounds, outbounds } = sample;
  return { up, down, inbounds: tagTraffic(inbounds), outbounds: tagTraffic(outbounds) };
}

const tagTraffic = (figures: TrafficSnapshot['inbounds']): readonly TagTraffic[] =>
  [...figures].map(([tag, { up, down, flows }]) => ({ tag, up, down, flows }));

function toLastReload({ at, outcome, error }: EndedReload): LastReload {
  return { at, outcome, place: placeOf(error) ?? null };
}

/** The place of a configuration error, which may be the cause of a ControlError. */
function placeOf(error: unknown): ReloadPlace | undefined {
  const cause = error instanceof ControlError ? error.cause : error;
  if (!(cause instanceof ConfigError) || !cause.location) return undefined;
  const { file, line, column } = cause.location;
  return { file: file ?? null, line, column };
}

function countedBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) {
    const key = keyOf(item);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

function numberIn(settings: unknown, key: string): number | undefined {
  const value = Object.entries(settings ?? {}).find(([name]) => name === key)?.[1];
  return typeof value === 'number' ? value : undefined;
}

/** Number of open descriptors; `undefined` where the system does not report it. */
async function openFiles(): Promise<number | undefined> {
  const open = openDescriptors();
  if (open > 0) return open;
  try {
    // One of them is that of this read.
    return (await readdir('/proc/self/fd')).length - 1;
  } catch {
    return undefined;
  }
}
