import type { GeoData } from '@weir/proxy/geo';
import type { RegexCache } from '@weir/proxy/names';
import { loadProtocols } from '@weir/proxy/protocols';
import type { Spec } from '@weir/proxy/spec';
import { printable } from '@weir/base/printable';
import type { ApiOptions } from './api.ts';
import { type ConfigSource, type Documents, readDocuments } from './sources/documents.ts';
import { ConfigError, DocumentReadError } from './errors.ts';
import { type FileReader, InputFiles } from './sources/input-files.ts';
import { readApiTable } from './sources/read-tables.ts';
import { withShownKeys } from './sources/with-shown-keys.ts';
import type { ConfigFile } from './sources/config-file.ts';
import type { SubscribeFile } from './sources/subscribe-file.ts';
import { loadGeo } from './sources/load-geo.ts';
import type { MergedConfig } from './merge.ts';
import type { Places } from './places.ts';
import { lowerConfig, type Lowered } from './lower.ts';
import type { Examined, Warning } from './warnings/warning.ts';
import { warningsOf } from './warnings/warnings.ts';

/** A configuration that has passed every check that requires no building. */
export interface LoadedConfig {
  readonly spec: Spec;
  /** The lists that rules of `spec` name. */
  readonly geo: GeoData;
  /** The options of `[api]`; `undefined` without that table, or when the API is not served. */
  readonly api: ApiOptions | undefined;
  /** Whether there is an `[api]` that was ignored. */
  readonly apiIgnored: boolean;
  /** Valid settings that are almost certainly mistakes. */
  readonly warnings: readonly Warning[];
  /** The tables that `spec` was made of, and their places. */
  readonly merged: MergedConfig;
  readonly places: Places;
  /** The input of the search for warnings, of which `warnings` has only the first. */
  readonly examined: Examined;
}

/** Called while a configuration is loaded. */
export interface LoadHooks {
  /** Called with `[log].level` once it is read, even if the configuration is invalid. */
  readonly onLogLevel?: ((level: string) => void) | undefined;
}

export interface LoadConfigOptions extends LoadHooks {
  /** The cache of compiled patterns, kept across reloads if there are any. */
  readonly regexes: RegexCache;
  /** Whether the API is served; if not, `[api]` is not validated. */
  readonly serveApi: boolean;
  /** The time for the validity of certificates, in Unix milliseconds; the current time by default. */
  readonly now?: number | undefined;
}

/**
 * Reads a configuration and all files that it names, and lowers it.
 *
 * @throws {ConfigError} of kind `io` when a file cannot be read, `invalid` for an error in one.
 */
export async function loadConfig(
  config: ConfigSource,
  files: FileReader,
  { regexes, serveApi, now = Date.now(), onLogLevel }: LoadConfigOptions,
): Promise<LoadedConfig> {
  const { source, file, subscribe, places } = await documentsOf(config, files, onLogLevel);
  const { api: written } = file;
  const api =
    serveApi && written ? await withShownKeys(() => readApiTable(written, source)) : undefined;
  await loadProtocols(protocolsIn(file, subscribe));
  const input = new InputFiles();
  const lower = (): Lowered => lowerConfig({ file, subscribe, api, places, files: input, regexes });
  let lowered = outcomeOf(lower);
  // Each pass may request more files, which are read before the next pass.
  while (await input.readWanted(files)) lowered = outcomeOf(lower);
  if (lowered instanceof ConfigError) throw lowered;
  const { spec, file: merged } = lowered;
  const geo = await loadGeo({ route: spec.route, file: merged, places, regexes });
  const examined: Examined = {
    own: file,
    subscribe,
    merged,
    spec,
    geo,
    api: lowered.api,
    canPick: !serveApi || file.api !== undefined,
    places,
    npmHeader: source.npmHeader,
    publicFiles: input.public,
    now,
  };
  return {
    spec,
    geo,
    api: lowered.api,
    apiIgnored: !serveApi && file.api !== undefined,
    warnings: warningsOf(examined),
    merged: lowered,
    places,
    examined,
  };
}

/** Returns the names of protocols as written. */
const protocolsIn = (
  { inbound, outbound }: ConfigFile,
  subscribe: SubscribeFile | undefined,
): Set<string> =>
  new Set(
    [...inbound, ...outbound, ...(subscribe?.proxyServer ?? [])].map(
      ({ value: { protocol } }) => protocol.value,
    ),
  );

async function documentsOf(
  config: ConfigSource,
  files: FileReader,
  onLogLevel: LoadHooks['onLogLevel'],
): Promise<Documents> {
  try {
    return await readDocuments(config, files, onLogLevel);
  } catch (error) {
    if (!(error instanceof DocumentReadError)) throw error;
    const { kind, message, location, subject } = error;
    const prefixed = printable(`cannot read ${config.path}: ${message}`);
    throw new ConfigError(kind, prefixed, { location, subject, cause: error });
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
