import { FileDigests } from '@weir/server/app/loading/file-digests';
import type { ConfigLocation } from '@weir/config';
import {
  loadConfig,
  type LoadHooks,
  type LoadedConfig,
  type MergedConfig,
  type Places,
} from '@weir/config/load';
import type { FileReader } from '@weir/config/documents';
import { RegexCache } from '@weir/proxy/names';

/** A configuration, with the data that explaining its rules needs. */
export interface LoadedRoutes extends Pick<LoadedConfig, 'spec' | 'geo'> {
  readonly regexes: RegexCache;
  readonly places: RulePlaces;
}

interface LoadRoutesOptions extends Pick<LoadHooks, 'onLogLevel'> {
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

/** The places of a configuration's rules. */
export class RulePlaces {
  readonly #merged: MergedConfig;
  readonly #places: Places;

  constructor(merged: MergedConfig, places: Places) {
    this.#merged = merged;
    this.#places = places;
  }

  /** The place of a rule; for `undefined`, of the default route. */
  of(rule: number | undefined): ConfigLocation | undefined {
    const { route, outbound } = this.#merged.file;
    const span =
      rule === undefined
        ? (route?.default ?? outbound[0]?.value.tag)?.span
        : route?.rule[rule]?.span;
    return span && this.#places.locate(span.start);
  }

  /** The route group of a rule, whose rules follow those of the configuration itself. */
  groupOf(rule: number | undefined): string | undefined {
    if (rule === undefined) return undefined;
    const { file, groups } = this.#merged;
    const own = groups.reduce((left, { rules }) => left - rules, file.route?.rule.length ?? 0);
    let behind = own;
    return groups.find((group) => rule >= own && rule < (behind += group.rules))?.name;
  }
}
