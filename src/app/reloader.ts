import { ControlError } from '../api/contract.ts';
import type { LoadedConfig } from '../config/load-config.ts';
import type { AppliedReport, ReloadReport } from '../supervisor/reload-report.ts';
import { toControlError } from './control-errors.ts';
import { FileLog } from './file-log.ts';
import { Mutex } from './mutex.ts';

/** What a reload does; each may reject with a ConfigError or an ApplyError. */
export interface ReloadSteps {
  readonly load: (files: FileLog) => Promise<LoadedConfig>;
  readonly apply: (loaded: LoadedConfig) => Promise<AppliedReport>;
}

/**
 * Reloads one at a time, and remembers the files of the last try: while they stay as they are, there
 * is nothing to do, or nothing new to say about what is wrong with them.
 */
export class Reloader {
  readonly #steps: ReloadSteps;
  readonly #mutex = new Mutex();
  #files: FileLog;
  #failure: unknown;

  /** @param files of the configuration that runs. */
  constructor(steps: ReloadSteps, files: FileLog) {
    this.#steps = steps;
    this.#files = files;
  }

  /** The files of the last try. */
  get files(): FileLog {
    return this.#files;
  }

  /** @throws {ControlError} `invalid` or `failed`, its cause what the step rejected with. */
  async reload(): Promise<ReloadReport> {
    const release = await this.#mutex.acquire();
    try {
      if (await this.#files.unchanged()) return this.#unchanged();
      return await this.#try();
    } finally {
      release();
    }
  }

  #unchanged(): ReloadReport {
    if (this.#failure === undefined) return { status: 'unchanged' };
    const { message } = toControlError(this.#failure);
    const told = `${message} (the files have not changed since this was found)`;
    throw new ControlError('invalid', told, { cause: this.#failure });
  }

  async #try(): Promise<ReloadReport> {
    this.#files = new FileLog();
    try {
      const report = await this.#steps.apply(await this.#steps.load(this.#files));
      this.#failure = undefined;
      return report;
    } catch (error) {
      this.#failure = error;
      throw toControlError(error);
    }
  }
}
