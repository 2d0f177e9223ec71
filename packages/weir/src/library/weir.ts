import { ControlError, type PickResult, ANY_FILE } from '@weir/server/api/contract';
import {
  StartTimes,
  flowView,
  sessionView,
  type ConnectionsView,
  type TrafficView,
} from '@weir/server/api/views';
import { loadAtStart } from '@weir/server/loading';
import { toControlError } from '@weir/server/app/outcomes';
import { FileDigests } from '@weir/server/app/loading/file-digests';
import { Instance } from '@weir/server/app/instance';
import { APP_TARGET } from '@weir/server/app/log/process-log';
import { RegexCache } from '@weir/proxy/names';
import {
  chooseFilter,
  passes,
  type LogFilter,
  type LogLevel,
  type LogMessage,
  type Logger,
} from '@weir/base/log';
import type { ListenerView } from '@weir/server/supervisor/listener-view';
import type { ReloadReport } from '@weir/server/supervisor/reload-report';
import type { FlowSelector } from '@weir/proxy/tracker';
import { VERSION } from '@weir/base';
import { type AgentOptions, createAgents, type WeirAgents } from './agent.ts';
import type { WeirAssociation } from './association.ts';
import type { WeirAssociateOptions, WeirConnectOptions } from './dial.ts';
import { FlowOpener } from './flow-opener.ts';
import {
  createDispatcher,
  type DispatcherOptions,
  type FetchDispatcher,
  loadUndici,
  type UndiciModule,
} from './dispatcher.ts';
import { type HookOptions, hooksOf } from './hooks.ts';
import { callHost } from './host-callback.ts';
import { Renewals } from './renewals.ts';
import type { WeirSocket } from './socket.ts';
import type { ConfigInput } from './config-input.ts';
import { checkOptions, type OptionType, toConfigSource } from './config-source.ts';
import { listenerEvents } from './listeners.ts';
import { routesView, type Routes } from './routes.ts';
import { flowEvents, trafficSamples, type EventStream, type FlowEventView } from './streams.ts';
import { usageView, type UsageView } from './usage-view.ts';

export interface StartOptions extends HookOptions {
  /**
   * The path of a configuration file, in which paths are resolved as by the command; or the configuration itself, as TOML
   * in `{ text }` or as an object with the tables of a file.
   */
  readonly config: ConfigInput;
  /** Receives every log line that passes the filter; nothing is logged without it. */
  readonly onLog?: LogCallback | undefined;
  /** Replaces `[log].level`, in the same syntax. The environment is not used. */
  readonly logLevel?: string | undefined;
}

export interface PickOptions {
  /** Pick only if the configuration file still has this entity tag, quotes included. */
  readonly ifMatch?: string | undefined;
  /** Abandons a pick that has not been written yet; a write that has begun is finished. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether the pick is written into the configuration file, as it is by default. Otherwise it is kept in memory: it ends
   * with the process, or when a reload removes the group or the target. The only choice for a configuration that is not a
   * file is memory.
   */
  readonly persist?: boolean | undefined;
}

export interface ReloadOptions {
  /** Another configuration, which takes the place of the current one if it can be applied. */
  readonly config?: ConfigInput | undefined;
}

export interface StopOptions {
  /** Milliseconds that live connections may continue; 5,000 by default. */
  readonly graceMs?: number | undefined;
}

/** The types of the options: a misspelt `authorize` must not start a proxy that is open to everyone. */
const START_OPTIONS = {
  config: undefined, // of several types, which toConfigSource checks
  onLog: 'function',
  logLevel: 'string',
  authorize: 'function',
  route: 'function',
  hookTimeoutMs: 'number',
  maxPendingHooks: 'number',
} as const satisfies Record<keyof StartOptions, OptionType>;

const STOP_GRACE_MS = 5_000;

/** The calls that take a configuration, as errors name them. */
const START = 'Weir.start';
const RELOAD = 'weir.reload';

const NO_FILE =
  'the configuration is not a file into which the pick could be written: leave `persist` out, and the pick is kept in memory';

/**
 * A running proxy inside a host program. Several may run side by side.
 *
 * It behaves like the command, except that `[api]` is neither served nor read: the calls of the API are methods here.
 * Every method that can fail rejects with a `ControlError`.
 */
export class Weir implements AsyncDisposable {
  /** The version of the program, as in `GET /v1/version`. */
  readonly version: string = VERSION;
  readonly #instance: Instance;
  readonly #times: StartTimes;
  readonly #dialer: FlowOpener;
  readonly #renewals = new Renewals();
  /** Aborts when a stop begins. */
  readonly #ending = new AbortController();
  #stopped: Promise<void> | undefined;

  private constructor(instance: Instance) {
    this.#instance = instance;
    this.#times = new StartTimes(instance.clock);
    this.#dialer = new FlowOpener(instance);
    instance.onReload({
      ended: (outcome) => outcome.kind === 'applied' && this.#renewals.renew(),
    });
  }

  /**
   * Reads the configuration, builds its parts, binds its listeners and serves.
   * @throws {ControlError} `invalid` for an invalid configuration or none, `failed` for a file that cannot be read or an
   * address that cannot be bound; all resources have then been released
   */
  static async start(options: StartOptions): Promise<Weir> {
    checkOptions(options, START, START_OPTIONS);
    const { config, onLog, logLevel } = options;
    const source = toConfigSource(config, START);
    const hooks = hooksOf(options);
    const regexes = new RegexCache();
    const files = new FileDigests();
    try {
      const loaded = await loadAtStart(source, { files, regexes, serveApi: false });
      const level = logLevel ?? loaded.spec.log.level;
      const filter = chooseFilter(undefined, onLog ? level : 'off');
      const log = callbackLogger(filter, onLog ?? (() => undefined), APP_TARGET);
      const instance = new Instance({ source, log, regexes, serveApi: false, hooks });
      await instance.start(loaded, files);
      return new Weir(instance);
    } catch (error) {
      throw toControlError(error);
    }
  }

  /** Whether `stop` has been called. */
  get stopping(): boolean {
    return this.#ending.signal.aborted;
  }

  /**
   * The routes as the files currently describe them, with the picks in memory, and the entity tag of the configuration.
   * @throws {ControlError} `invalid` or `failed`
   */
  async routes(): Promise<Routes> {
    this.#refuseStopped();
    return routesView(await this.#instance.routesWithPicks());
  }

  /**
   * Sets the pick of a group, or of `default`, in the configuration file or in memory, and reloads. Picks are serialised.
   * @throws {ControlError} of any code; with the file's `etag` when it is `stale`, and when the pick has been written
   * and the reload after it failed
   * @throws the reason of `signal` if it aborts before the pick is written
   */
  async pick(group: string, target: string, options: PickOptions = {}): Promise<PickResult> {
    this.#refuseStopped();
    const { ifMatch, signal = new AbortController().signal } = options;
    const { persist = this.#instance.hasFile } = options;
    const condition = ifMatch === undefined ? ANY_FILE : { kind: 'is' as const, etag: ifMatch };
    if (!persist) return this.#instance.pickInMemory(group, target, condition, signal);
    if (!this.#instance.hasFile) throw new ControlError('failed', NO_FILE);
    return this.#instance.pick(group, target, condition, signal);
  }

  /**
   * Applies another configuration, or without one what has changed in the files of the current one.
   * @throws {ControlError} `invalid` or `failed`; the previous configuration stays in force
   */
  async reload(options: ReloadOptions = {}): Promise<ReloadReport> {
    this.#refuseStopped();
    checkOptions(options, RELOAD, { config: undefined });
    const { config } = options;
    if (config === undefined) return this.#instance.reload();
    const source = toConfigSource(config, RELOAD);
    return this.#instance.reload(({ picks }) => ({ ...source, picks }));
  }

  /** The addresses that inbounds are bound to, with the ports that the kernel chose; none after a stop. */
  listeners(): readonly ListenerView[] {
    return this.#instance.supervisor.listeners;
  }

  /**
   * A stream of all listeners after each reload that changes them; a slow reader gets the newest only. A stop ends the
   * stream.
   */
  listenerEvents(): EventStream<readonly ListenerView[]> {
    return listenerEvents(this.#instance.supervisor, this.#ending.signal);
  }

  /** The live flows and the sessions that carry them. */
  connections(): ConnectionsView {
    const { tracker } = this.#instance;
    const offset = this.#times.read();
    // Flows first, as the API reads them.
    const flows = tracker.flows().map((flow) => flowView(flow, offset));
    return { sessions: tracker.sessions().map((one) => sessionView(one, offset)), flows };
  }

  /** Closes one flow; `false` when no live flow has this id. */
  closeFlow(id: number): boolean {
    const flow = this.#instance.tracker.flow(id);
    flow?.kill();
    return flow !== undefined;
  }

  /** Closes the flows that match every given field, or all flows if none is given; returns how many. */
  closeFlows({ outbound, inbound, session, user }: FlowSelector = {}): number {
    return this.#instance.tracker.killMatching({ outbound, inbound, session, user }).count;
  }

  /**
   * A stream of every flow that opens or closes after this call. The last 1024 events are buffered; a reader that is
   * further behind gets `lagged` and continues with the oldest that is left. A stop ends the stream.
   */
  flowEvents(): EventStream<FlowEventView> {
    const subscription = this.#instance.tracker.events.subscribe();
    return flowEvents(subscription, this.#times, this.#ending.signal);
  }

  /** A stream of one sample per second from this call on; a slow reader skips some. A stop ends the stream. */
  traffic(): EventStream<TrafficView> {
    return trafficSamples(this.#instance.tracker.traffic, this.#ending.signal);
  }

  /**
   * Closes the listeners, and ends live connections after at most `graceMs`. Idempotent.
   * @throws {RangeError} if `graceMs` is not a number of 0 or more
   */
  async stop({ graceMs = STOP_GRACE_MS }: StopOptions = {}): Promise<void> {
    if (!(graceMs >= 0)) throw new RangeError('graceMs must be a number of 0 or more');
    this.#ending.abort();
    this.#renewals.closeIdle();
    this.#stopped ??= this.#instance.stop(graceMs);
    await this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Bytes and flows since the start, by account, inbound, outbound, source and host. */
  usage(): UsageView {
    return usageView(this.#instance.tracker.usage());
  }

  #refuseStopped(): void {
    if (this.stopping) throw new ControlError('failed', 'the proxy is stopping');
  }

  /**
   * Connects to a destination through an outbound, or as the rules decide.
   *
   * The stream is a flow like those of inbounds: `connections` shows it, `closeFlow` ends it, a reload does not, and a
   * stop ends it after the grace period.
   *
   * @throws {DialError} when the destination was not reached; its `code` is the reason
   * @throws {RangeError} for an invalid port
   * @throws the reason of `signal` if it aborts before the stream is open
   */
  async connect(options: WeirConnectOptions): Promise<WeirSocket> {
    return (await this.#dialer.connect(options)).socket;
  }

  /**
   * Opens an association for datagrams to any number of peers, which are routed one by one.
   * @throws {DialError} `unknown_outbound`
   * @throws the reason of `signal` if it has aborted
   */
  async associate(options: WeirAssociateOptions = {}): Promise<WeirAssociation> {
    return this.#dialer.associate(options);
  }

  /**
   * Agents for `node:http` and `node:https`. Idle connections are closed when a reload replaces their outbound or,
   * without `outbound`, changes the routes; the next request dials anew.
   */
  agent(options: AgentOptions = {}): WeirAgents {
    return createAgents(this.#dialer, options, this.#renewals);
  }

  /**
   * A dispatcher for undici and `fetch`, by the npm package undici of the host program. Its connections end as those of
   * `agent` do.
   * @throws {WeirError} `no_undici` when the package is not installed, or older than version 7
   */
  dispatcher(options?: DispatcherOptions & { readonly undici?: undefined }): FetchDispatcher;
  /**
   * The same, by the undici given, of whose `Agent` the result has the type.
   * @throws {WeirError} `no_undici` for anything but undici 7 or newer
   */
  dispatcher<Agent extends object>(
    options: DispatcherOptions & { readonly undici: UndiciModule<Agent> },
  ): Agent;
  dispatcher(options: DispatcherOptions & { readonly undici?: unknown } = {}): unknown {
    const { undici = loadUndici() } = options;
    return createDispatcher(undici, this.#dialer, options, this.#renewals);
  }
}

/** A line of the log, in its parts. */
export interface LogLine {
  readonly time: Date;
  readonly level: LogLevel;
  /** The part of the program: `svc_app`, `svc_app::instance`. */
  readonly target: string;
  readonly message: string;
}

export type LogCallback = (line: LogLine) => void;

/** A logger that passes lines to the host program; the filter is evaluated once per target and level. */
export function callbackLogger(filter: LogFilter, take: LogCallback, target: string): Logger {
  const at = (level: LogLevel): ((message: LogMessage) => void) => {
    if (!passes(filter, target, level)) return () => undefined;
    return (message) => {
      const lines = typeof message === 'string' ? [message] : message;
      for (const line of lines) {
        callHost(() => take({ time: new Date(), level, target, message: line }));
      }
    };
  };
  return {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    trace: at('trace'),
    enabled: (level) => passes(filter, target, level),
    target: (name) => callbackLogger(filter, take, name),
  };
}
