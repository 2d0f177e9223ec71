import { FileDigests } from '../app/loading/file-digests.ts';
import { loadConfig, type LoadHooks, type LoadedConfig } from '../config/load-config.ts';
import type { FileReader } from '../config/sources/input-files.ts';
import { RegexCache } from '../engine/router/tables/regex-set.ts';
import { RulePlaces } from './rule-places.ts';

/** A configuration, with the data that explaining its rules needs. */
export interface LoadedRoutes extends Pick<LoadedConfig, 'spec' | 'geo'> {
  readonly regexes: RegexCache;
  readonly places: RulePlaces;
}

export interface LoadRoutesOptions extends Pick<LoadHooks, 'onLogLevel'> {
  readonly files?: FileReader;
  /** Replaces the contents of the configuration file, which is then not read. */
  readonly bytes?: Uint8Array | undefined;
}

/**
 * Loads a configuration, or the built-in one when none is named.
 *
 * @throws {ConfigError} of kind `io` when a file cannot be read, `invalid` for an error in one
 */
export async function loadRoutes(
  path: string | undefined,
  { files = new FileDigests(), bytes, ...hooks }: LoadRoutesOptions = {},
): Promise<LoadedRoutes & Pick<LoadedConfig, 'examined'>> {
  const regexes = new RegexCache();
  const loaded = await loadConfig({ path, bytes }, files, { ...hooks, regexes, serveApi: true });
  const { spec, geo, examined, merged } = loaded;
  return { spec, geo, examined, regexes, places: new RulePlaces(merged, loaded.places) };
}
