import { ControlError } from '../api/contract.ts';
import { ConfigError } from '../config/errors.ts';
import type { LoadedConfig } from '../config/load-config.ts';
import type { AppliedReport, ReloadReport } from '../supervisor/reload-report.ts';
import { toControlError } from './outcomes.ts';
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
 *
 * Where a file could not be read nothing was tried. The next reload reads again, and with the files
 * back as they were there is nothing to do.
 */
export class Reloader {
  readonly #steps: ReloadSteps;
  readonly #mutex = new Mutex();
  /** Those of the last try. */
  #tried: FileLog;
  /** What came of it, when it failed. */
  #failure: unknown;
  #files: FileLog;

  /** @param files of the configuration that runs. */
  constructor(steps: ReloadSteps, files: FileLog) {
    this.#steps = steps;
    this.#tried = files;
    this.#files = files;
  }

  /** The files of the last reload, whether or not they could all be read. */
  get files(): FileLog {
    return this.#files;
  }

  /** @throws {ControlError} `invalid` or `failed`, its cause what the step rejected with. */
  async reload(): Promise<ReloadReport> {
    const release = await this.#mutex.acquire();
    try {
      if (await this.#tried.unchanged()) return this.#unchanged();
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
    const files = new FileLog();
    this.#files = files;
    try {
      const report = await this.#steps.apply(await this.#steps.load(files));
      this.#tried = files;
      this.#failure = undefined;
      return report;
    } catch (error) {
      if (!isUnreadable(error)) {
        this.#tried = files;
        this.#failure = error;
      }
      throw toControlError(error);
    }
  }
}

const isUnreadable = (error: unknown): boolean =>
  error instanceof ConfigError && error.kind === 'io';
