import {
  loadConfig,
  type LoadedConfig,
  type LoadOptions as ConfigLoadOptions,
} from '../config/load-config.ts';
import { RegexCache } from '../engine/router/regex-set.ts';
import { FileLog, TooMuchToReadError } from './file-log.ts';
import { attachConfig, type LoadOutcome } from './detached-config.ts';
import { SMALL, type ConfigThread } from './thread.ts';

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
  const { files, bytes, serveApi = true, thread, signal } = options;
  if ((bytes?.length ?? 0) <= SMALL) {
    const read = new FileLog(SMALL);
    try {
      return await loadConfigFile(path, { ...options, files: read });
    } catch (error) {
      if (!(error instanceof TooMuchToReadError)) throw error;
    } finally {
      files.adopt(read.seen);
    }
  }
  const result = await thread.run({ kind: 'load', path, bytes, serveApi }, signal);
  const outcome = result as LoadOutcome; // see `carryOut` in thread-main.ts
  files.adopt(outcome.files);
  return attachConfig(outcome.result);
}
