import {
  ControlError,
  type ControlledApp,
  type PickResult,
  type RoutesResult,
  type IfMatch,
} from '../api/contract.ts';
import { ApiLifecycle } from '../api/lifecycle.ts';
import type { PacketTaps } from '@weir/base/ip/packet-device';
import type { ConfigSource } from '@weir/config/documents';
import { quoted } from '@weir/base/printable';
import type { RegexCache } from '@weir/proxy/names';
import type { Hooks } from '@weir/proxy/hooks';
import { recordLines, type Logger } from '@weir/base/log';
import { systemClock, type Clock } from '@weir/io/time';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { ApplyError, drainText, type ReloadReport } from '../supervisor/reload-report.ts';
import { ownBuild, nodeWarning } from '@weir/io/process';
import { Supervisor } from '../supervisor/supervisor.ts';
import type { Tracker } from '@weir/proxy/tracker';
import { VERSION } from '@weir/base';
import { logHints, WarningLog } from './log/error-lines.ts';
import { FileDigests } from './loading/file-digests.ts';
import type { PreparedConfig } from './loading/tasks.ts';
import { Configuration } from './configuration.ts';
import type { LimitsKeeper } from './limits/limits-keeper.ts';
import { type PickedRoutes, Picker } from './picker.ts';
import {
  failedOutcome,
  limitsFailureLine,
  outcomeOf,
  toControlError,
  type ReloadOutcome,
} from './outcomes.ts';
import { Reloader, type SourceChange } from './reloader.ts';
import type { TunnelDeps } from './control/control-tunnels.ts';

interface InstanceOptions {
  readonly source: ConfigSource;
  /** A logger with the target of the app. */
  readonly log: Logger;
  /** Compiled patterns, shared with the load that the instance is started with. */
  readonly regexes: RegexCache;
  /** Whether `[api]` is served; a host program calls methods instead. */
  readonly serveApi: boolean;
  /** Receives the packets of TUN inbounds. */
  readonly capture?: PacketTaps | undefined;
  /** The limits of accounts; `undefined` for none. */
  readonly limits?: LimitsKeeper | undefined;
  /** The hooks of a host program. */
  readonly hooks?: Hooks | undefined;
}

/** Callbacks around every reload. */
interface ReloadObserver {
  begins?(): void;
  /** @param error the error of a failed reload */
  ended?(outcome: ReloadOutcome, error?: unknown): void;
}

/** One running proxy: its resources, the files that configure them, and the API over both. */
export class Instance implements ControlledApp {
  readonly version = VERSION;
  /** Determined at the start: the files of a checkout may change later. */
  readonly build = ownBuild();
  readonly clock: Clock = systemClock;
  readonly #configuration: Configuration;
  readonly #log: Logger;
  /** The limits of accounts; `undefined` for none. */
  readonly limits: LimitsKeeper | undefined;
  readonly #serveApi: boolean;
  readonly #supervisor: Supervisor;
  readonly #picker: Picker;
  readonly #api: ApiLifecycle;
  #reloader: Reloader;
  #apiIgnored = false;
  /** Whether a reload was rejected because of the drain. */
  #reloadMissed = false;
  readonly #warnings: WarningLog;
  readonly #observers = new Set<ReloadObserver>();
  readonly #drainObservers = new Set<(draining: boolean) => void>();
  readonly #stopping = new AbortController();
  /** `[log].level` of the last configuration that was applied. */
  #logLevel: string | undefined;

  constructor(options: InstanceOptions) {
    const { log, regexes, serveApi, capture, limits, hooks } = options;
    this.limits = limits;
    this.#serveApi = serveApi;
    const ownListeners = new OwnListeners();
    this.#log = log.target('svc_app::instance');
    this.#warnings = new WarningLog(this.#log);
    const deps = { clock: this.clock, log, regexes, ownListeners, capture, hooks };
    this.#supervisor = new Supervisor(deps);
    this.#configuration = new Configuration({
      ...options,
      build: (loaded) => this.#supervisor.check(loaded),
      stopping: this.#stopping.signal,
      onPickEnded: (group, target) => this.#logEndedPick(group, target),
    });
    this.#reloader = this.#createReloader(new FileDigests());
    this.#picker = new Picker(this.#configuration, (change) => this.reload(change));
    this.#api = new ApiLifecycle(this, log, ownListeners);
  }

  get tracker(): Tracker {
    return this.#supervisor.tracker;
  }

  /** For reporting on the running proxy; callers must not change anything. */
  get supervisor(): Supervisor {
    return this.#supervisor;
  }

  /** Dependencies for opening flows of clients of the control socket. */
  get tunnelDeps(): TunnelDeps {
    return {
      clock: this.clock,
      pick: (tag) => this.#supervisor.pick(tag),
      stopping: this.#stopping.signal,
    };
  }

  /** The bound address of the API; `undefined` while it is off. */
  get apiAddress(): string | undefined {
    return this.#api.address;
  }

  /** Whether `stop` has been called. */
  get stopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** The files of the last load, successful or not. */
  get files(): FileDigests {
    return this.#reloader.files;
  }

  /** The files of the configuration that runs. */
  get loadedFiles(): FileDigests {
    return this.#reloader.loaded;
  }

  /**
   * Builds and binds everything, then serves. A concurrent `stop` aborts it.
   * @param files the files that `loaded` was read from
   * @throws {WeirError} when a part cannot be built or bound; all resources have then been released
   */
  async start(loaded: PreparedConfig, files: FileDigests): Promise<void> {
    this.#reloader = this.#createReloader(files);
    this.limits?.start(this.tracker);
    try {
      await this.#supervisor.apply(loaded, { bound: () => this.#api.start(loaded.api) });
    } catch (error) {
      await this.#api.stop();
      await this.#supervisor.stop(0);
      throw error;
    }
    this.#logIgnoredApi(loaded);
    this.#logLevel = loaded.spec.log.level;
    const warning = nodeWarning(process.versions.node);
    if (warning !== undefined) this.#log.warn(`${warning}; "Which Node" in docs/install.md`);
    // A host program may only dial.
    if (this.#serveApi && loaded.spec.inbounds.length === 0) {
      this.#log.warn('the configuration has no inbound: no connection will be accepted');
    }
    this.#warnings.log(loaded.warnings);
  }

  async routes(): Promise<RoutesResult> {
    const { view, etag } = await this.#picker.routes();
    return { view, etag };
  }

  /** The routes, and the picks among them that are in memory. @throws {ControlError} as `routes` does */
  routesWithPicks(): Promise<PickedRoutes> {
    return this.#picker.routes();
  }

  async pick(
    group: string,
    target: string,
    ifMatch: IfMatch,
    signal: AbortSignal,
  ): Promise<PickResult> {
    try {
      return await this.#picker.pick(group, target, ifMatch, signal);
    } finally {
      this.#configuration.forgetChecked();
    }
  }

  /** Picks in memory: see Picker. @throws {ControlError} as `pick` does */
  pickInMemory(
    group: string,
    target: string,
    ifMatch: IfMatch,
    signal: AbortSignal,
  ): Promise<PickResult> {
    return this.#picker.pickInMemory(group, target, ifMatch, signal);
  }

  /** Whether the configuration is a file, into which picks can be written. */
  get hasFile(): boolean {
    return this.#configuration.path !== undefined;
  }

  /** Number of inbounds that are served. */
  get inbounds(): number {
    return this.#supervisor.inbounds;
  }

  /**
   * Reads the files again, applies the changes, and logs the outcome.
   * @param change reloads from another source, which is kept if that succeeds
   */
  async reload(change?: SourceChange): Promise<ReloadReport> {
    for (const observer of this.#observers) observer.begins?.();
    try {
      const limits = await this.#limitsRead();
      const report = await this.#reloader.reload(change, () => void limits?.());
      await limits?.();
      this.#reloadEnded(outcomeOf(report));
      return report;
    } catch (error) {
      this.#reloadEnded(failedOutcome(error), error);
      // The cause of a ControlError is the error of the configuration, which has the hints.
      logHints(error instanceof ControlError ? error.cause : error, this.#log);
      throw error;
    }
  }

  /** Reads the limits file alone again, puts the limits in force, and logs an error. */
  async reloadLimits(): Promise<void> {
    try {
      await (
        await this.#limitsRead()
      )?.();
    } catch (error) {
      this.#log.error(recordLines(limitsFailureLine(error)));
      logHints(error instanceof ControlError ? error.cause : error, this.#log);
    }
  }

  /** Reads the limits file if it has changed. @throws {ControlError} */
  async #limitsRead(): Promise<(() => Promise<void>) | undefined> {
    try {
      return await this.limits?.prepare((path, files) => this.#configuration.limits(path, files));
    } catch (error) {
      throw toControlError(error);
    }
  }

  /** Calls the observer around every reload, successful or not, until the returned function is called. */
  onReload(observer: ReloadObserver): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  /**
   * Closes the listeners of the inbounds: see Drain. The API continues, and reloads are rejected. Waits for a running
   * reload. Idempotent.
   */
  async drain(): Promise<void> {
    const { drain } = this.#supervisor;
    await this.#reloader.exclusively(async () => {
      if (drain.since !== undefined || this.stopping) return;
      await drain.begin();
      this.#reportDrain(true);
      this.#log.info(`draining: no inbound accepts; ${drainText(drain.remains)}`);
      void drain.over.then(() => {
        if (drain.since === undefined || this.stopping) return;
        this.#log.info(`drained: ${drainText(drain.remains)}`);
      });
    });
  }

  /**
   * Reopens the listeners of the inbounds, and reloads if a reload was rejected during the drain.
   * @throws {ControlError} `failed` when a listener cannot be bound: the drain continues
   */
  async takeBackDrain(): Promise<void> {
    const { drain } = this.#supervisor;
    await this.#reloader.exclusively(async () => {
      if (drain.since === undefined || this.stopping) return;
      try {
        await drain.takeBack();
      } catch (error) {
        throw toControlError(error);
      }
      this.#reportDrain(false);
      this.#log.info('the drain was taken back: the inbounds accept again');
    });
    if (!this.#reloadMissed) return;
    this.#reloadMissed = false;
    // Its outcome is logged.
    await this.reload().catch(() => undefined);
  }

  /** Calls the observer when a drain has begun, and when it was undone. */
  onDrain(observer: (draining: boolean) => void): void {
    this.#drainObservers.add(observer);
  }

  #reportDrain(draining: boolean): void {
    for (const observer of this.#drainObservers) observer(draining);
  }

  #refuseDraining(): void {
    try {
      this.#supervisor.drain.refuseChanges();
    } catch (error) {
      this.#reloadMissed = true;
      throw toControlError(error);
    }
  }

  /**
   * Closes the listeners of the inbounds, stops the API, and ends live connections after at most `graceMs`, which is
   * logged.
   */
  async stop(graceMs: number): Promise<void> {
    const reason = new ApplyError('stopped', 'the proxy is stopping');
    this.#stopping.abort(reason);
    await this.#supervisor.beginStop(graceMs);
    await this.#api.stop();
    await this.#configuration.stop(reason);
    await this.#supervisor.stop(graceMs);
    await this.limits?.stop();
  }

  #reloadEnded(outcome: ReloadOutcome, error?: unknown): void {
    switch (outcome.kind) {
      case 'applied':
        this.#log.info(`config reloaded: ${outcome.summary}`);
        break;
      case 'unchanged':
        this.#log.debug('reload: the files have not changed');
        break;
      case 'failed':
        this.#log.error(recordLines(outcome.line), { error: outcome.line });
        break;
      default:
        outcome satisfies never;
    }
    for (const observer of this.#observers) observer.ended?.(outcome, error);
  }

  #createReloader(files: FileDigests): Reloader {
    return new Reloader(
      this.#configuration,
      {
        refuse: () => this.#refuseDraining(),
        apply: async (loaded, committed) => {
          const api = await this.#api.movingListener(loaded.api);
          const report = await this.#supervisor.apply(loaded, {
            apiListeners: api ? [api] : [],
            committed,
          });
          this.#logIgnoredApi(loaded);
          this.#logUnreadLevel(loaded);
          this.#warnings.log(loaded.warnings);
          // Not awaited: the old listener finishes its requests first, and this reload may be one.
          void this.#api.change(loaded.api);
          return report;
        },
      },
      files,
    );
  }

  #logEndedPick(group: string, target: string): void {
    const names = `${quoted(target)} for ${quoted(group)}`;
    this.#log.info(`the pick in memory of ${names} has ended: one of them no longer exists`);
  }

  /** Warns once for each new level: the level at the start remains in force. */
  #logUnreadLevel({ spec: { log } }: PreparedConfig): void {
    if (log.level === this.#logLevel) return;
    this.#logLevel = log.level;
    this.#log.warn(
      '[log] has changed: it is read at start only, so that it has no effect until a restart; `weir log-level` changes the log of a running process',
    );
  }

  /** Logs once, for as long as the table exists, that `[api]` is ignored. */
  #logIgnoredApi({ apiIgnored }: PreparedConfig): void {
    if (apiIgnored && !this.#apiIgnored) {
      this.#log.info('[api] is not served here: calls are made directly');
    }
    this.#apiIgnored = apiIgnored;
  }
}
