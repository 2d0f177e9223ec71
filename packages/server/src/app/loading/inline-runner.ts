import { hash } from 'node:crypto';
import { loadConfig, type LoadedConfig, type LoadHooks } from '@weir/config/load';
import { readDocuments, withShownKeys } from '@weir/config/documents';
import { RegexCache } from '@weir/proxy/names';
import { FileDigests, ReadBudgetError } from './file-digests.ts';
import {
  type EditTask,
  type LoadTask,
  type ResultOf,
  type RoutesRead,
  type Task,
  type TaskOptions,
  type TaskRunner,
  toLoadResult,
} from './tasks.ts';

export interface InlineRunnerOptions {
  /** Maximum bytes that a task may read or be given. */
  readonly limit: number;
  readonly regexes: RegexCache;
  /** Whether reading files blocks the thread: at startup, when there is nothing to delay. */
  readonly blocking?: boolean;
  readonly onLogLevel?: LoadHooks['onLogLevel'];
}

/** Runs tasks in the calling thread. A task of more than `limit` bytes rejects with ReadBudgetError. */
export class InlineRunner implements TaskRunner {
  readonly #options: InlineRunnerOptions;

  constructor(options: InlineRunnerOptions) {
    this.#options = options;
  }

  async run<T extends Task>(task: T, { files }: TaskOptions = {}): Promise<ResultOf<T>> {
    const { limit, blocking } = this.#options;
    if (task.kind !== 'routes' && (task.bytes?.length ?? 0) > limit) throw new ReadBudgetError();
    const read = new FileDigests(limit, blocking);
    try {
      return (await this.#carryOut(task, read)) as ResultOf<T>;
    } finally {
      files?.adopt(read.seen);
    }
  }

  async #carryOut(task: Task, files: FileDigests): Promise<ResultOf<Task>> {
    switch (task.kind) {
      case 'load':
        return toLoadResult(await loadConfigFile(task.path, { ...this.#options, ...task, files }));
      case 'routes':
        return readRoutes(task.path, files);
      case 'edit':
        return edited(task);
      default:
        return task satisfies never;
    }
  }
}

export interface LoadFileOptions extends LoadHooks, Partial<Pick<LoadTask, 'bytes' | 'serveApi'>> {
  /** Records the files that are read, also when loading fails; use a new instance for every load. */
  readonly files?: FileDigests | undefined;
  /** Compiles patterns; pass the cache that is kept across reloads, where there is one. */
  readonly regexes?: RegexCache | undefined;
}

/**
 * Reads a configuration file and the files that it names, or the built-in configuration when none is named.
 *
 * @throws {ConfigError} of kind `io` when a file cannot be read, `invalid` for an error in one
 */
export const loadConfigFile = (
  path: string | undefined,
  options: LoadFileOptions = {},
): Promise<LoadedConfig> => {
  const { files = new FileDigests(), regexes = new RegexCache(), bytes } = options;
  const { serveApi = true, onLogLevel } = options;
  return loadConfig({ path, bytes }, files, { regexes, serveApi, onLogLevel });
};

/** Runs an edit. @throws {ConfigError} as `editPick` does */
async function edited({ bytes, path, group, target, subscribe }: EditTask): Promise<Uint8Array> {
  const { editPick } = await import('@weir/config/edit/pick-editor');
  return withShownKeys(() => editPick(bytes, { subscribe }, group, target, path));
}

/** Reads the routes. @throws {ConfigError} as `readDocuments` does */
async function readRoutes(path: string | undefined, files: FileDigests): Promise<RoutesRead> {
  const { bytes, file, subscribe } = await readDocuments({ path }, files);
  const { routeView } = await import('@weir/config/route-view');
  const view = routeView(file, subscribe);
  return { bytes, etag: etagOf(bytes), view, subscribe: file.subscribe !== undefined };
}

/** The strong entity tag of a configuration file (RFC 9110 §8.8.3): its SHA-256 in quotes. */
export const etagOf = (bytes: Uint8Array): string => `"${hash('sha256', bytes)}"`;
