import {
  loadConfig,
  type LoadedConfig,
  type LoadOptions as ConfigLoadOptions,
} from '../../config/load-config.ts';
import { WeirError } from '../../errors.ts';
import { RegexCache } from '../../engine/router/tables/regex-set.ts';
import { FileLog, TooMuchToReadError } from '../log/file-log.ts';
import { attachConfig, type LoadOutcome } from './detached-config.ts';
import { ConfigThread, SMALL } from './thread.ts';

/** More bytes than this are read in a thread at the start too: it takes 300 ms to start one. */
const LARGE = 1024 * 1024;

export interface LoadOptions {
  /** Remembers the files that are read, also when loading fails; a new one for every load. */
  readonly files?: FileLog | undefined;
  /** Compiles patterns; pass the one that is kept across reloads, where there is one. */
  readonly regexes?: RegexCache | undefined;
  /** Used as the contents of the configuration file, which is not read then. */
  readonly bytes?: Uint8Array | undefined;
  /** Whether `[api]` will be served; as in the command when left out. */
  readonly serveApi?: boolean | undefined;
  /** Gets `[log].level` as soon as it is known, also when the configuration is invalid. */
  readonly onLogLevel?: ((level: string) => void) | undefined;
  /** Gets the tables that a valid configuration consists of, and where they stand. */
  readonly onMerged?: ConfigLoadOptions['onMerged'];
}

/**
 * Reads a configuration file and what it names, or the built-in configuration when none is named.
 *
 * @throws {ConfigError} of kind `io` when a file cannot be read, `invalid` for an error in one.
 */
export const loadConfigFile = (
  path: string | undefined,
  options: LoadOptions = {},
): Promise<LoadedConfig> => {
  const { files = new FileLog(), regexes = new RegexCache(), bytes } = options;
  const { serveApi = true, onLogLevel, onMerged } = options;
  return loadConfig({ path, bytes }, files, { regexes, serveApi, onLogLevel, onMerged });
};

/**
 * Loads without delaying traffic: small files at once, large ones in the thread, which also builds
 * the tables of the routes. Both throw the errors of `loadConfigFile`.
 *
 * @param signal ends the wait for the thread
 */
export async function loadAside(
  path: string | undefined,
  options: LoadOptions & {
    readonly files: FileLog;
    readonly thread: ConfigThread;
    readonly signal: AbortSignal;
  },
): Promise<LoadedConfig> {
  return (await loadUpTo(SMALL, path, options)) ?? (await loadInThread(path, options));
}

/**
 * Loads before there is any traffic: large files in a thread, since the memory that reading them takes is
 * the system's again when the thread ends, and the heap of this thread stays as large as it once was. Throws
 * the errors of `loadConfigFile`, with all that belongs to them.
 */
export async function loadAtStart(
  path: string | undefined,
  options: LoadOptions = {},
): Promise<LoadedConfig> {
  const { files = new FileLog(), onMerged } = options;
  const given = { ...options, files };
  // The tables stay in the thread.
  if (onMerged) return loadConfigFile(path, given);
  const small = await loadUpTo(LARGE, path, given);
  if (small) return small;
  const thread = new ConfigThread();
  try {
    return await loadInThread(path, { ...given, thread });
  } catch {
    // What is wrong is found again here, where no part of the error is lost.
    return await loadConfigFile(path, given);
  } finally {
    void thread.stop(new WeirError('ended', 'the configuration has been read'));
  }
}

/** Reads up to `size` bytes; `undefined` where there are more. */
async function loadUpTo(
  size: number,
  path: string | undefined,
  options: LoadOptions & { readonly files: FileLog },
): Promise<LoadedConfig | undefined> {
  if ((options.bytes?.length ?? 0) > size) return undefined;
  const read = new FileLog(size);
  try {
    return await loadConfigFile(path, { ...options, files: read });
  } catch (error) {
    if (!(error instanceof TooMuchToReadError)) throw error;
    return undefined;
  } finally {
    options.files.adopt(read.seen);
  }
}

async function loadInThread(
  path: string | undefined,
  options: LoadOptions & {
    readonly files: FileLog;
    readonly thread: ConfigThread;
    readonly signal?: AbortSignal;
  },
): Promise<LoadedConfig> {
  const { files, bytes, serveApi = true, thread, signal } = options;
  const result = await thread.run({ kind: 'load', path, bytes, serveApi }, signal);
  const outcome = result as LoadOutcome; // see `carryOut` in thread-main.ts
  files.adopt(outcome.files);
  return attachConfig(outcome.result);
}
