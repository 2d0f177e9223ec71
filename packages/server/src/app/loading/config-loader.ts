import type { RegexCache } from '@weir/proxy/names';
import type { LoadHooks } from '@weir/config/load';
import { WeirError } from '@weir/base';
import { FileDigests, ReadBudgetError } from './file-digests.ts';
import { ConfigThread } from './config-thread.ts';
import { InlineRunner } from './inline-runner.ts';
import {
  type EditTask,
  type PreparedConfig,
  type ResultOf,
  type RoutesRead,
  type Task,
  type TaskOptions,
  type TaskRunner,
  toPreparedConfig,
} from './tasks.ts';

/**
 * Maximum bytes of all files that are read in this thread: parsing more would delay traffic. The first file of this
 * length that a process parses takes 25 ms, before the parser has been compiled; a running thread takes less, but
 * starting one takes 300.
 */
const INLINE_LIMIT = 10 * 1024;

/** Maximum bytes of all files that are read in this thread before there is any traffic, when only the 300 ms matter. */
const INLINE_LIMIT_AT_START = 1024 * 1024;

export interface LoaderOptions {
  /** Compiles patterns; pass the cache that is kept across reloads, where there is one. */
  readonly regexes: RegexCache;
  /** Whether `[api]` will be served; otherwise it is not even validated. */
  readonly serveApi: boolean;
}

/** Reads and edits configurations without delaying traffic: small files in this thread, large ones in another. */
export class ConfigLoader {
  readonly #inline: TaskRunner;
  readonly #thread: TaskRunner;
  readonly #serveApi: boolean;

  /**
   * @param inline rejects large tasks with ReadBudgetError
   * @param thread accepts tasks of any size
   */
  constructor(inline: TaskRunner, thread: TaskRunner, serveApi: boolean) {
    this.#inline = inline;
    this.#thread = thread;
    this.#serveApi = serveApi;
  }

  /** Creates the loader of a running instance. */
  static beside(thread: TaskRunner, { regexes, serveApi }: LoaderOptions): ConfigLoader {
    return new ConfigLoader(new InlineRunner({ limit: INLINE_LIMIT, regexes }), thread, serveApi);
  }

  /**
   * Reads a configuration file and the files that it names, or the built-in configuration when none is
   * named, and prepares it for the supervisor.
   *
   * @param bytes used as the contents of the configuration file, which is then not read
   * @throws {ConfigError} of kind `io` when a file cannot be read, `invalid` for an error in one
   */
  async load(
    path: string | undefined,
    { bytes, ...options }: TaskOptions & { readonly bytes?: Uint8Array | undefined } = {},
  ): Promise<PreparedConfig> {
    const task = { kind: 'load', path, bytes, serveApi: this.#serveApi } as const;
    return toPreparedConfig(await this.#run(task, options));
  }

  /** Reads the routes from the files. @throws {ConfigError} as `readDocuments` does */
  routes(path: string | undefined, signal?: AbortSignal): Promise<RoutesRead> {
    return this.#run({ kind: 'routes', path }, { signal });
  }

  /** Writes a pick into bytes of a configuration file. @throws {ConfigError} as `editPick` does */
  edit(edit: Omit<EditTask, 'kind'>, signal?: AbortSignal): Promise<Uint8Array> {
    return this.#run({ kind: 'edit', ...edit }, { signal });
  }

  async #run<T extends Task>(task: T, options: TaskOptions): Promise<ResultOf<T>> {
    try {
      return await this.#inline.run(task, options);
    } catch (error) {
      if (!(error instanceof ReadBudgetError)) throw error;
    }
    return this.#thread.run(task, options);
  }
}

/**
 * Loads a configuration before there is any traffic. Large files are still read in a thread: its memory is returned to
 * the system when it ends, whereas the heap of this thread would stay as large.
 *
 * @param options `blocking`: whether reading small files blocks the thread, for a process without other work
 * @throws {ConfigError} as `ConfigLoader.load` does, with its cause
 */
export async function loadAtStart(
  path: string | undefined,
  {
    regexes,
    serveApi,
    files = new FileDigests(),
    bytes,
    blocking = false,
    onLogLevel,
  }: LoaderOptions & {
    readonly files?: FileDigests | undefined;
    readonly bytes?: Uint8Array | undefined;
    readonly blocking?: boolean;
    readonly onLogLevel?: LoadHooks['onLogLevel'];
  },
): Promise<PreparedConfig> {
  const upTo = (limit: number): TaskRunner =>
    new InlineRunner({ limit, regexes, blocking, onLogLevel });
  const large: TaskRunner = {
    async run(task, options) {
      const thread = new ConfigThread();
      try {
        return await thread.run(task, options);
      } catch {
        // Errors from the thread have lost their causes: loading again in this thread reproduces the error.
        return await upTo(Infinity).run(task, options);
      } finally {
        void thread.stop(new WeirError('ended', 'the configuration has been read'));
      }
    },
  };
  const loader = new ConfigLoader(upTo(INLINE_LIMIT_AT_START), large, serveApi);
  return loader.load(path, { files, bytes });
}
