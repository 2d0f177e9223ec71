import type { GeoData } from '../engine/geo/geo-data.ts';
import type { RegexCache } from '../engine/router/regex-set.ts';
import type { Spec } from '../spec.ts';
import { readConfigFile } from './config-file.ts';
import { DEFAULT_CONFIG } from './default-config.ts';
import { ConfigError } from './errors.ts';
import { FileReadError, type FileReader } from './files.ts';
import { InputFiles } from './input-files.ts';
import { loadGeo } from './load-geo.ts';
import { lowerConfig } from './lower.ts';
import { decodeSource } from './utf8.ts';

/** What is loaded. */
export interface ConfigSource {
  /** The file, which errors name; the built-in configuration when left out. */
  readonly path?: string | undefined;
  /** What is taken to be in the file, which is not read then. */
  readonly bytes?: Uint8Array | undefined;
}

/** A configuration that is right as far as can be told without building anything. */
export interface LoadedConfig {
  readonly spec: Spec;
  /** The lists that rules of `spec` name. */
  readonly geo: GeoData;
}

/**
 * Reads a configuration and all files that it names, and works out what it means.
 *
 * @param regexes compiles patterns; pass the one that is kept across reloads, where there is one.
 * @throws {ConfigError} of kind `io` when a file cannot be read, `invalid` when something is wrong.
 */
export async function loadConfig(
  { path, bytes }: ConfigSource,
  files: FileReader,
  regexes: RegexCache,
): Promise<LoadedConfig> {
  const source = decodeSource(bytes ?? (await readConfig(path, files)), path);
  const file = readConfigFile(source);
  const input = new InputFiles();
  const lower = (): Spec => lowerConfig(file, source, input, regexes);
  let lowered = outcomeOf(lower);
  // Each time some more files are named and read, until there are none left.
  while (await input.readWanted(files)) lowered = outcomeOf(lower);
  if (lowered instanceof ConfigError) throw lowered;
  return { spec: lowered, geo: await loadGeo({ route: lowered.route, file, source, regexes }) };
}

async function readConfig(path: string | undefined, files: FileReader): Promise<Uint8Array> {
  if (path === undefined) return Buffer.from(DEFAULT_CONFIG);
  try {
    return await files.read(path);
  } catch (error) {
    if (!(error instanceof FileReadError)) throw error;
    throw new ConfigError('io', `cannot read ${path}: ${error.message}`, { cause: error });
  }
}

function outcomeOf<T>(work: () => T): T | ConfigError {
  try {
    return work();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}
