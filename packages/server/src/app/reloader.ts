import { ControlError } from '../api/contract.ts';
import { ConfigError } from '@weir/config';
import type { AppliedReport, ReloadReport } from '../supervisor/reload-report.ts';
import { toControlError } from './outcomes.ts';
import type { Configuration } from './configuration.ts';
import type { PreparedConfig } from './loading/tasks.ts';
import { FileDigests } from './loading/file-digests.ts';
import { Mutex } from './mutex.ts';

/** Actions of a reload on a configuration. */
interface ReloadSteps {
  /** Throws while nothing can be applied, regardless of the files; this does not count as an attempt. */
  readonly refuse?: () => void;
  /** @throws {ApplyError} */
  readonly apply: (loaded: PreparedConfig) => Promise<AppliedReport>;
}

/**
 * Runs one reload at a time, and remembers the files of the last attempt: while they are unchanged, a reload does
 * nothing, or reports the same error again.
 *
 * A load with an unreadable file does not count as an attempt: the next reload reads the files again, and does nothing
 * if they equal those of the last attempt.
 */
export class Reloader {
  readonly #configuration: Pick<Configuration, 'load'>;
  readonly #steps: ReloadSteps;
  readonly #mutex = new Mutex();
  /** The files of the last attempt. */
  #tried: FileDigests;
  /** The error of the last attempt, if it failed. */
  #failure: unknown;
  #files: FileDigests;
  #loaded: FileDigests;

  /** @param files the files of the running configuration */
  constructor(configuration: Pick<Configuration, 'load'>, steps: ReloadSteps, files: FileDigests) {
    this.#configuration = configuration;
    this.#steps = steps;
    this.#tried = files;
    this.#files = files;
    this.#loaded = files;
  }

  /** The files of the last reload, whether or not they could all be read. */
  get files(): FileDigests {
    return this.#files;
  }

  /** The files of the configuration that runs. */
  get loaded(): FileDigests {
    return this.#loaded;
  }

  /**
   * Reloads if the files have changed.
   *
   * @throws the error of `refuse`
   * @throws {ControlError} `invalid` or `failed`, whose cause is the rejection of the step; for unchanged files
   * `invalid` for every cause: only other files help
   */
  async reload(): Promise<ReloadReport> {
    return this.exclusively(async () => {
      if (await this.#tried.unchanged()) return this.#unchanged();
      this.#steps.refuse?.();
      return this.#try();
    });
  }

  /** Runs `work` while no reload is running, and delays further ones. */
  async exclusively<T>(work: () => Promise<T>): Promise<T> {
    const release = await this.#mutex.acquire();
    try {
      return await work();
    } finally {
      release();
    }
  }

  #unchanged(): ReloadReport {
    if (this.#failure === undefined) return { status: 'unchanged' };
    const { message } = toControlError(this.#failure);
    const again = `${message} (the files have not changed since this was found)`;
    throw new ControlError('invalid', again, { cause: this.#failure });
  }

  async #try(): Promise<ReloadReport> {
    const files = new FileDigests();
    this.#files = files;
    try {
      const report = await this.#steps.apply(await this.#configuration.load(files));
      this.#tried = files;
      this.#loaded = files;
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
