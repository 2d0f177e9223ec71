import { FileDigests } from '@weir/server/app/loading/file-digests';
import type { ConfigLocation } from '@weir/config';
import {
  loadConfig,
  type LoadHooks,
  type LoadedConfig,
  type MergedConfig,
  type Places,
  type Examined,
  WarningList,
  warnOfRules,
  warnOfShadowedRules,
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

/** A likely mistake in a rule. */
export interface RuleWarning {
  /** Whether the rule never matches; otherwise only one of its entries does not. */
  readonly isDead: boolean;
  /** Text of one line. */
  readonly message: string;
}

/**
 * The warnings of rules, by index: of each rule the first, but preferably one that it never matches. At most as many as
 * a `WarningList` keeps.
 */
export function ruleWarnings(examined: Examined): ReadonlyMap<number, RuleWarning> {
  const list = new WarningList();
  warnOfShadowedRules(examined, list);
  warnOfRules(examined, list);
  const places = (examined.merged.route?.rule ?? [])
    .map(({ span }, rule) => ({ rule, start: span.start }))
    .toSorted((a, b) => a.start - b.start);
  const warnings = new Map<number, RuleWarning>();
  for (const { id, start, message } of list.kept(examined.places)) {
    const rule = lastAtMost(places, start)?.rule;
    const isDead = id === 'rule-never-matches';
    if (rule === undefined || (warnings.has(rule) && !isDead)) continue;
    warnings.set(rule, { isDead, message });
  }
  return warnings;
}

/** The last of ascending places that does not start behind `limit`. */
function lastAtMost<T extends { readonly start: number }>(
  places: readonly T[],
  limit: number,
): T | undefined {
  let [low, high] = [0, places.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((places[middle]?.start ?? 0) <= limit) low = middle + 1;
    else high = middle;
  }
  return places[low - 1];
}
