import type { ConfigSource } from '@weir/config/documents';
import { silentLogger } from '@weir/base/log';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { systemClock } from '@weir/io/time';
import { RegexCache } from '@weir/proxy/names';
import {
  ConfigLoader,
  ConfigThread,
  loadAtStart,
  type LoaderOptions,
} from './loading/config-loader.ts';
import { FileDigests } from './loading/file-digests.ts';
import type { EditTask, PreparedConfig, RoutesRead } from './loading/tasks.ts';
import { Supervisor } from '../supervisor/supervisor.ts';

interface ConfigurationOptions extends LoaderOptions {
  readonly source: ConfigSource;
  /** Builds a configuration without binding anything. @throws {ApplyError} when a part cannot be built */
  readonly build: (loaded: PreparedConfig) => Promise<void>;
  /** Aborts what is being read when the process stops. */
  readonly stopping: AbortSignal;
  /** Called when a pick of the source has ended, because its group or its target no longer exists. */
  readonly onPickEnded?: ((group: string, target: string) => void) | undefined;
}

/**
 * The configuration of a running instance, as its files have it: it is read, checked and edited here, large files in a
 * thread of its own.
 */
export class Configuration {
  #source: ConfigSource;
  readonly #options: ConfigurationOptions;
  readonly #thread = new ConfigThread();
  readonly #loader: ConfigLoader;
  /** The last configuration that was checked, and its files: the reload after a pick need not read them again. */
  #checked: { readonly loaded: PreparedConfig; readonly files: FileDigests } | undefined;

  constructor(options: ConfigurationOptions) {
    this.#source = options.source;
    this.#options = options;
    this.#loader = ConfigLoader.beside(this.#thread, options);
  }

  get source(): ConfigSource {
    return this.#source;
  }

  /** The path of the configuration file; `undefined` without one. */
  get path(): string | undefined {
    return this.#source.path;
  }

  /** Reads the routes. @throws {ConfigError} as `readDocuments` does */
  routes(signal?: AbortSignal): Promise<RoutesRead> {
    return this.#loader.routes(this.#source, signal);
  }

  /** Writes a pick into bytes of the file. @throws {ConfigError} as `editPick` does */
  edit(pick: Omit<EditTask, 'kind' | 'path'>, signal?: AbortSignal): Promise<Uint8Array> {
    return this.#loader.edit({ path: this.path, ...pick }, signal);
  }

  /** Checks the file with other contents as `--test` does. @throws {ConfigError | ApplyError} when it is invalid */
  async check(bytes: Uint8Array): Promise<void> {
    const files = new FileDigests();
    const loaded = await this.#load(files, { ...this.#source, bytes });
    await this.#options.build(loaded);
    if (this.path === undefined) return;
    files.expect(this.path, bytes);
    this.#checked = { loaded, files };
  }

  /**
   * Loads the configuration; reuses the last one that was checked, unless one of its files has changed since.
   * @param files records what is read
   * @param source another source, which `adopt` makes that of the configuration
   * @throws {ConfigError}
   */
  async load(files: FileDigests, source = this.#source): Promise<PreparedConfig> {
    const checked = this.#checked;
    this.#checked = undefined;
    const isChecked = checked && source === this.#source && (await checked.files.unchanged());
    if (!isChecked) return this.#load(files, source);
    files.adopt(checked.files.seen);
    return checked.loaded;
  }

  /** Makes a source that was loaded and applied that of the configuration. */
  adopt({ picks }: Pick<PreparedConfig, 'picks'>, source = this.#source): void {
    const ended = [...(source.picks ?? [])].filter(([group]) => !picks.has(group));
    this.#source = ended.length === 0 ? source : { ...source, picks };
    for (const [group, target] of ended) this.#options.onPickEnded?.(group, target);
  }

  /** Frees the last configuration that was checked: its reload has ended, or there will be none. */
  forgetChecked(): void {
    this.#checked = undefined;
  }

  /** Ends the thread; whatever it reads fails with the reason. */
  stop(reason: Error): Promise<void> {
    return this.#thread.stop(reason);
  }

  #load(files: FileDigests, source: ConfigSource): Promise<PreparedConfig> {
    return this.#loader.load(source, { files, signal: this.#options.stopping });
  }
}

/** Options of `loadAtStart` except those that a check fixes. */
type CheckInput = Omit<Parameters<typeof loadAtStart>[1], 'regexes' | 'serveApi' | 'blocking'> &
  Pick<ConfigSource, 'bytes'>;

/**
 * Checks a configuration as `--test` does: loads and builds it without binding anything.
 * @param path path of the file, which errors name; `undefined` for the built-in configuration
 * @throws {ConfigError} for an invalid configuration or a file that cannot be read
 * @throws {ApplyError} when a part cannot be built
 */
export async function checkConfig(
  path: string | undefined,
  { bytes, ...input }: CheckInput = {},
): Promise<PreparedConfig> {
  const regexes = new RegexCache();
  const options = { ...input, regexes, serveApi: true, blocking: true };
  const config = await loadAtStart({ path, bytes }, options);
  const supervisor = new Supervisor({
    clock: systemClock,
    log: silentLogger,
    regexes,
    ownListeners: new OwnListeners(),
  });
  await supervisor.check(config);
  return config;
}
