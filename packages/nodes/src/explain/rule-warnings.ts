import { type Examined, WarningList, warnOfRules, warnOfShadowedRules } from '@weir/config/load';

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
