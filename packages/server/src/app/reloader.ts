import { ControlError } from '../api/contract.ts';
import { ConfigError } from '@weir/config';
import type { ConfigSource } from '@weir/config/documents';
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
  readonly apply: (loaded: PreparedConfig, committed?: () => void) => Promise<AppliedReport>;
}

/** Returns another source of the configuration in place of the current one. */
export type SourceChange = (current: ConfigSource) => ConfigSource;

/** The configuration as reloads use it. */
type Reloaded = Pick<Configuration, 'source' | 'load' | 'adopt'>;

/**
 * Runs one reload at a time, and remembers the files of the last attempt: while they are unchanged, a reload does
 * nothing, or reports the same error again.
 *
 * A load with an unreadable file does not count as an attempt: the next reload reads the files again, and does nothing
 * if they equal those of the last attempt.
 */
export class Reloader {
  readonly #configuration: Reloaded;
  readonly #steps: ReloadSteps;
  readonly #mutex = new Mutex();
  /** The files of the last attempt. */
  #tried: FileDigests;
  /** The error of the last attempt, if it failed. */
  #failure: unknown;
  #files: FileDigests;
  #loaded: FileDigests;

  /** @param files the files of the running configuration */
  constructor(configuration: Reloaded, steps: ReloadSteps, files: FileDigests) {
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
   * @param change reloads in any case, with another source, which is kept if that succeeds
   * @param committed called in the turn in which the configuration is in force, unless it is unchanged
   * @throws the error of `refuse`
   * @throws {ControlError} `invalid` or `failed`, whose cause is the rejection of the step; for unchanged files
   * `invalid` for every cause: only other files help
   */
  async reload(change?: SourceChange, committed?: () => void): Promise<ReloadReport> {
    return this.exclusively(async () => {
      if (!change && (await this.#tried.unchanged())) return this.#unchanged();
      this.#steps.refuse?.();
      return this.#try(change?.(this.#configuration.source), committed);
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

  /** @param changed another source; if it fails, the attempt says nothing about the files of the current one */
  async #try(changed?: ConfigSource, committed?: () => void): Promise<ReloadReport> {
    const files = new FileDigests();
    this.#files = files;
    try {
      const loaded = await this.#configuration.load(files, changed);
      const report = await this.#steps.apply(loaded, committed);
      this.#configuration.adopt(loaded, changed);
      this.#tried = files;
      this.#loaded = files;
      this.#failure = undefined;
      return report;
    } catch (error) {
      if (!changed && !isUnreadable(error)) {
        this.#tried = files;
        this.#failure = error;
      }
      throw toControlError(error);
    }
  }
}

const isUnreadable = (error: unknown): boolean =>
  error instanceof ConfigError && error.kind === 'io';
