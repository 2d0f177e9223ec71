import { hash } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import { ConfigError } from '@weir/config';
import { type FileReader, readDocuments, withShownKeys } from '@weir/config/documents';
import { loadConfig, type LoadedConfig, type LoadHooks } from '@weir/config/load';
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

interface InlineRunnerOptions {
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
    if ('bytes' in task && (task.bytes?.length ?? 0) > limit) throw new ReadBudgetError();
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
      case 'limits':
        return (await import('@weir/config/limits/read-limits')).readLimits(task.path, files);
      default:
        return task satisfies never;
    }
  }
}

interface LoadFileOptions extends LoadHooks, Partial<Pick<LoadTask, 'bytes' | 'serveApi'>> {
  /** Records the files that are read, also when loading fails; use a new instance for every load. */
  readonly files?: FileDigests | undefined;
  /** Compiles patterns; pass the cache that is kept across reloads, where there is one. */
  readonly regexes?: RegexCache | undefined;
}

/**
 * Reads a configuration file and the files that it names, or the built-in configuration when none is named.
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

/** The error message of a configuration's checks, without its API; `undefined` if it is valid. */
export const configProblem = (text: string): Promise<string | undefined> =>
  problemOf(() => loadConfigFile('imported', { bytes: Buffer.from(text), serveApi: false }));

/**
 * The error message of a configuration's checks together with its subscribe file, neither of which need exist;
 * `undefined` if both are valid.
 * @param nodes name of the subscribe file, in the directory of the configuration
 */
export function pairProblem(
  config: { readonly path: string; readonly text: string },
  nodes: { readonly name: string; readonly text: string },
): Promise<string | undefined> {
  const nodesPath = join(dirname(config.path), nodes.name);
  const bytes = Buffer.from(nodes.text);
  const disk = new FileDigests();
  const isNodes = (path: string): boolean => resolve(path) === resolve(nodesPath);
  const files: FileReader = {
    read: async (path) => (isNodes(path) ? bytes : disk.read(path)),
    sha256: (path) => disk.sha256(path),
    isPublic: async (path) => !isNodes(path) && disk.isPublic(path),
  };
  return problemOf(() =>
    loadConfig({ path: config.path, bytes: Buffer.from(config.text) }, files, {
      regexes: new RegexCache(),
      serveApi: true,
    }),
  );
}

async function problemOf(load: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await load();
    return undefined;
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n').at(-1)?.trim();
    throw error;
  }
}
