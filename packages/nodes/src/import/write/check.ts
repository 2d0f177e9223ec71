/**
 * Weir's checks of a configuration without its API: resolves with the error, or `undefined` for a valid one.
 * `configProblem` of `packages/server/src/app` is an implementation.
 */
export type ConfigCheck = (text: string) => Promise<string | undefined>;

/** Maximum number of checks for one kind of part; each reads a whole text. */
const MOST_CHECKS = 5000;

/**
 * Finds the invalid items and why. It checks all of them together, and halves while that fails: a list with few invalid
 * items takes few checks.
 *
 * @param textOf returns a configuration with these items
 */
export async function problemsIn<T>(
  items: readonly T[],
  textOf: (items: readonly T[]) => string,
  check: ConfigCheck,
): Promise<ReadonlyMap<T, string>> {
  const problems = new Map<T, string>();
  const waiting = [items];
  let checks = 0;
  for (let some = waiting.pop(); some !== undefined; some = waiting.pop()) {
    if (some.length === 0) continue;
    const isOver = checks++ >= MOST_CHECKS;
    const problem = isOver ? 'too many others are invalid' : await check(textOf(some));
    if (problem === undefined) continue;
    if (some.length === 1 || isOver) for (const each of some) problems.set(each, problem);
    else {
      const half = some.length >> 1;
      waiting.push(some.slice(half), some.slice(0, half));
    }
  }
  return problems;
}
