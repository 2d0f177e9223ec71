import { resolve } from 'node:path';
import { messageOf, WeirError } from '@weir/base';
import type { Logger } from '@weir/base/log';
import { counted } from '@weir/base/text/amounts';
import { type Clock, type Timer, Turns } from '@weir/io/time';
import type { AccountState, LimitsSpec } from '@weir/proxy/limits';
import type { Tracker } from '@weir/proxy/tracker';
import type { LimitsReport, LimitsRequest } from '../control/limits-report.ts';
import { FileDigests } from '../loading/file-digests.ts';
import type { AccountLimitsStatus } from '../control/running-status.ts';
import { LimitEvents, reachedAccounts, reportAccounts } from './limits-view.ts';
import { StateFile, StateFileError } from './state-file.ts';

/** Milliseconds between two looks at what was used: with the write of the file less than a second is lost. */
const TICK_MS = 800;

/** The files of limits. */
export interface LimitsPaths {
  readonly path: string;
  /** The file with the used bytes. */
  readonly statePath: string;
}

interface KeeperDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

const unwritable = (path: string, cause: unknown): WeirError =>
  new WeirError(
    'limits_state',
    `cannot store the used bytes of accounts in ${path}: ${messageOf(cause)}`,
    {
      cause,
      hint: '--limits-state FILE names another file',
    },
  );

/** Reads a limits file. @throws {ConfigError} */
type LimitsReader = (path: string, files: FileDigests) => Promise<LimitsSpec>;

/** Reads a limits file before there is any traffic. @throws {ConfigError} */
export const readLimitsAtStart: LimitsReader = async (path, files) =>
  (await import('@weir/config/limits/read-limits')).readLimits(path, files);

/**
 * The limits of accounts of a running process: reads the limits file, stores what accounts have used, and reports both.
 */
export class LimitsKeeper {
  readonly #paths: LimitsPaths;
  readonly #deps: KeeperDeps;
  readonly #events: LimitEvents;
  readonly #stateFile: StateFile;
  /** The limits in force, and the files that they were read from. */
  #spec: LimitsSpec;
  #files: FileDigests;
  /** What accounts had used before this process. */
  #states: readonly AccountState[];
  /** Numbers of the last read that began, and of the one whose limits are in force. */
  #lastRead = 0;
  #appliedRead = 0;
  #tracker: Tracker | undefined;
  #timer: Timer | undefined;
  #ticking: Promise<void> | undefined;
  #storing: Promise<void> | undefined;
  /** Whether the last attempt to store has failed, which was logged. */
  #failed = false;

  private constructor(
    paths: LimitsPaths,
    deps: KeeperDeps,
    spec: LimitsSpec,
    files: FileDigests,
    stateFile: StateFile,
    states: readonly AccountState[],
  ) {
    this.#paths = paths;
    this.#deps = deps;
    this.#spec = spec;
    this.#files = files;
    this.#stateFile = stateFile;
    this.#states = states;
    this.#events = new LimitEvents(deps.clock, deps.log.target('svc_app::limits'));
  }

  /**
   * Reads both files; the one with the used bytes is created if there is none.
   * @throws {ConfigError} for an invalid limits file
   * @throws {WeirError} when what was used cannot be read or written
   */
  static async open(paths: LimitsPaths, deps: KeeperDeps): Promise<LimitsKeeper> {
    const files = new FileDigests();
    const spec = await readLimitsAtStart(paths.path, files);
    // Shows whether it can be written, before anything is to be stored.
    const stateFile = new StateFile(paths.statePath);
    await stateFile.change(deps.clock.wall(), []).catch((error: unknown) => {
      throw error instanceof StateFileError ? error : unwritable(paths.statePath, error);
    });
    return new LimitsKeeper(paths, deps, spec, files, stateFile, await stateFile.read());
  }

  /** The files that the limits were read from. */
  get files(): FileDigests {
    return this.#files;
  }

  /** Puts the limits in force. */
  start(tracker: Tracker): void {
    this.#tracker = tracker;
    tracker.limits.onChange = (change) => this.#events.add(change, tracker);
    tracker.limits.restore(this.#states);
    this.#states = [];
    void tracker.applyLimits(this.#spec);
    this.#tickLater();
  }

  /**
   * Reads the limits file again if it has changed.
   * @returns a function that puts the limits in force, once: for new flows before it returns, for others when its promise
   * resolves; `undefined` for an unchanged file
   * @throws {ConfigError}: the limits of before stay in force
   */
  async prepare(read: LimitsReader): Promise<(() => Promise<void>) | undefined> {
    if (await this.#files.unchanged()) return undefined;
    const number = ++this.#lastRead;
    const files = new FileDigests();
    const spec = await read(this.#paths.path, files);
    let applied: Promise<void> | undefined;
    return () => (applied ??= this.#apply(number, spec, files));
  }

  async #apply(number: number, spec: LimitsSpec, files: FileDigests): Promise<void> {
    // A later read may have been faster.
    if (number < this.#appliedRead) return;
    this.#appliedRead = number;
    this.#files = files;
    this.#spec = spec;
    await this.#tracker?.applyLimits(spec);
    const { accounts, others } = spec;
    const rest = others ? ', and all others' : '';
    this.#deps.log.info(`limits reloaded: ${counted(accounts.size, 'account')}${rest}`);
  }

  /** Returns the state of accounts. */
  report(request: LimitsRequest): LimitsReport {
    return {
      kind: 'limits',
      file: resolve(this.#paths.path),
      state_file: resolve(this.#paths.statePath),
      ...reportAccounts(this.#tracker?.limits.meters ?? new Map(), request, this.#deps.clock),
      events: this.#events.latest,
    };
  }

  /** Returns the accounts that have reached a limit. */
  status(): AccountLimitsStatus {
    return reachedAccounts(this.#tracker?.limits.meters ?? new Map(), this.#deps.clock);
  }

  /** Stores what accounts have used, for the last time. Never rejects. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    await this.#storing;
    await this.#store();
  }

  #tickLater(): void {
    this.#timer = this.#deps.clock.after(TICK_MS, () => {
      this.#tickLater();
      this.#ticking ??= this.#tick().finally(() => {
        this.#ticking = undefined;
      });
      this.#storing ??= this.#store().finally(() => {
        this.#storing = undefined;
      });
    });
  }

  async #tick(): Promise<void> {
    if (this.#tracker) await new Turns(this.#deps.clock).run(this.#tracker.limits.tick());
  }

  async #store(): Promise<void> {
    const meters = this.#tracker?.limits.changed() ?? [];
    if (meters.length === 0) return;
    const { log, clock } = this.#deps;
    try {
      const stored: (() => void)[] = [];
      const changes = meters.map((meter) => ({
        user: meter.name,
        merge(known: AccountState | undefined): AccountState {
          const before = meter.state;
          const merged = meter.merged(known);
          stored.push(() => meter.stored(before, merged));
          return merged;
        },
      }));
      await this.#stateFile.change(clock.wall(), changes);
      for (const done of stored) done();
      if (this.#failed) log.info('the used bytes of accounts are stored again');
      this.#failed = false;
    } catch (error) {
      // It is tried again with the next look: nothing is lost while the process runs.
      if (!this.#failed) {
        log.error(`cannot store the used bytes of accounts: ${messageOf(error)}`);
      }
      this.#failed = true;
    }
  }
}
