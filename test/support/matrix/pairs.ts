/** What is varied in a candidate, by name: `carrier`, `cipher`. */
export type Factors = Readonly<Record<string, string>>;

/**
 * A covering array of strength 2: candidates among which every pair of values of two factors occurs that occurs in
 * any candidate. What cannot be had is no candidate, so it is never chosen. The choice is the greedy one, the first
 * of those that add as much, without those that later ones made superfluous; it depends on the candidates alone.
 *
 * @param isKept chooses candidates whatever they add
 * @returns those chosen, in the order of the candidates
 */
export function coverPairs<T>(
  candidates: readonly T[],
  factorsOf: (candidate: T) => Factors,
  isKept: (candidate: T) => boolean = () => false,
): readonly T[] {
  const pairs = candidates.map((candidate) => pairsOf(factorsOf(candidate)));
  const kept = new Set(candidates.keys().filter((at) => isKept(candidates[at] as T)));
  const chosen = new Set(kept);
  /** How many of the chosen have each pair. */
  const counts = new Map<string, number>();
  const count = (at: number, by: 1 | -1): void => {
    for (const pair of pairs[at] ?? []) counts.set(pair, (counts.get(pair) ?? 0) + by);
  };
  for (const at of kept) count(at, 1);
  for (;;) {
    const gains = pairs.map((own) => own.filter((pair) => !counts.has(pair)).length);
    const most = Math.max(0, ...gains);
    if (most === 0) break;
    const next = gains.indexOf(most);
    chosen.add(next);
    count(next, 1);
  }
  for (const at of chosen) {
    if (kept.has(at) || pairs[at]?.some((pair) => counts.get(pair) === 1)) continue;
    chosen.delete(at);
    count(at, -1);
  }
  return candidates.filter((_, at) => chosen.has(at));
}

/** Every two factors of a candidate, with their values. */
export function pairsOf(factors: Factors): readonly string[] {
  const values = Object.entries(factors).map(([name, value]) => `${name}=${value}`);
  return values.flatMap((one, at) => values.slice(at + 1).map((other) => `${one}, ${other}`));
}
