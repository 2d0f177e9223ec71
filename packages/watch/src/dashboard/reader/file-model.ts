import { Holds, Listeners } from '@weir/base/collections';
import { requestLoadedFiles } from '@weir/server/control';
import { hintsOf, messageOf } from '@weir/base';
import { systemClock, type Clock, type Timer } from '@weir/io/time';
import { printable } from '@weir/base/printable';
import { ActionError } from '../parameters.ts';
import type { DashboardContext } from '../contract.ts';
import type { FileFreshness, FileState } from '../rules/view.ts';
import type { ConfigFacts, FileWorker, OfFile } from './file-requests.ts';

/** Milliseconds between two checks of the files while a page is open. */
const LOOK_MS = 5_000;

type FileContext = Pick<DashboardContext, 'monitor' | 'config' | 'socket'>;

/** The configuration on disk as the thread has read it, kept current while a page is open. */
export class FileModel {
  readonly worker: FileWorker;
  readonly #context: FileContext;
  readonly #clock: Clock;
  readonly #compare: typeof requestLoadedFiles;
  readonly #listeners = new Listeners();
  readonly #holds = new Holds(
    () => this.#start(),
    () => this.#stop(),
  );
  #facts: ConfigFacts | undefined;
  #failure: { readonly message: string; readonly hints: readonly string[] } | undefined;
  #isSame: boolean | undefined;
  /** Key of the state that `#isSame` was determined for. */
  #comparedAt = '';
  #timer: Timer | undefined;
  #watched: Disposable | undefined;
  /** State of the monitor at the last check. */
  #seen = '';
  #looking: Promise<void> | undefined;

  /** @param compare `requestLoadedFiles`; replaced in tests */
  constructor(
    context: FileContext,
    worker: FileWorker,
    clock: Clock = systemClock,
    compare = requestLoadedFiles,
  ) {
    this.worker = worker;
    this.#context = context;
    this.#clock = clock;
    this.#compare = compare;
  }

  /** The facts of the last read; `undefined` before it, and while the file cannot be read. */
  get facts(): ConfigFacts | undefined {
    return this.#failure ? undefined : this.#facts;
  }

  /**
   * The file of the running Weir, or the one named by `--config`; `null` for the built-in one, `undefined` if unknown.
   */
  get path(): string | null | undefined {
    const { monitor, config } = this.#context;
    return monitor.status ? monitor.status.value.config : config;
  }

  get state(): FileState {
    const { path } = this;
    if (path === undefined) {
      const isAsked = this.#context.monitor.socket.kind === 'connecting';
      return { kind: isAsked ? 'reading' : 'unknown' };
    }
    const file = path === null ? null : printable(path);
    if (this.#failure) return { kind: 'invalid', file, ...this.#failure };
    if (!this.#facts) return { kind: 'reading' };
    return { kind: 'read', file, freshness: this.#freshness, readAt: this.#facts.readAt };
  }

  /** The file as parameters of a request. @throws {ActionError} if it is not known */
  get ofFile(): OfFile {
    const { path } = this;
    if (path !== undefined) return { path, pid: this.#context.monitor.status?.value.pid ?? null };
    throw new ActionError('no-file', 'which configuration file Weir has loaded is not known', {
      hint: 'weir dashboard --config FILE names it; otherwise the control socket of Weir does',
    });
  }

  hold(): Disposable {
    return this.#holds.hold();
  }

  onChange(listener: () => void): Disposable {
    return this.#listeners.add(listener);
  }

  #start(): void {
    this.#watched = this.#context.monitor.onChange(() => {
      if (this.#triggers() !== this.#seen) void this.look();
    });
    void this.look();
  }

  #stop(): void {
    this.#timer?.cancel();
    this.#watched?.[Symbol.dispose]();
  }

  /** Checks the files; if a check is under way, another one follows it. */
  async look(): Promise<void> {
    await this.#looking;
    await (this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
      this.#timer?.cancel();
      if (this.#holds.isHeld) this.#timer = this.#clock.after(LOOK_MS, () => void this.look());
    }));
  }

  async #look(): Promise<void> {
    this.#seen = this.#triggers();
    if (this.path === undefined) return;
    const before = JSON.stringify([this.state, this.#facts?.version]);
    try {
      this.#facts = await this.worker.ask('facts', this.ofFile);
      this.#failure = undefined;
    } catch (error) {
      this.#failure = {
        message: printable(messageOf(error)),
        hints: hintsOf(error).map(printable),
      };
    }
    await this.#compareFiles();
    if (JSON.stringify([this.state, this.#facts?.version]) === before) return;
    this.#listeners.call();
  }

  /**
   * Asks Weir whether it has loaded the current contents of the files; only if either may have changed, because it
   * reads them.
   */
  async #compareFiles(): Promise<void> {
    const { socket } = this.#context;
    const key = JSON.stringify([this.#seen, this.#facts?.version, this.#failure?.message]);
    if (socket === undefined || key === this.#comparedAt) return;
    try {
      const { files } = await this.#compare(socket);
      this.#isSame = files.every(({ state }) => state === 'same');
      this.#comparedAt = key;
    } catch {
      this.#isSame = undefined; // the frame reports the failure of the socket
    }
  }

  get #freshness(): FileFreshness {
    if (this.#isSame === undefined) return 'unknown';
    if (this.#isSame) return 'loaded';
    const last = this.#context.monitor.status?.value.last_reload;
    return last?.outcome.kind === 'failed' ? 'refused' : 'changed';
  }

  #triggers(): string {
    const { status, routes } = this.#context.monitor;
    const { pid, plane_epoch: epoch, last_reload: last, config } = status?.value ?? {};
    return JSON.stringify([pid, epoch, last?.at, config, routes?.value.etag]);
  }
}
