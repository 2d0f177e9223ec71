import { ImportError } from '../draft.ts';
import type { Matchers } from '../routing.ts';

/** The most alternatives that one rule may become. */
const MOST_ALTERNATIVES = 64;

/** Why a rule without alternatives is not needed. */
export const MATCHES_NEVER = 'its parts exclude each other';

/** The alternatives of `OR`. @throws {ImportError} when there are too many. */
export function oneOf(lists: readonly (readonly Matchers[])[]): readonly Matchers[] {
  const all = lists.flat();
  if (all.length > MOST_ALTERNATIVES) throw new ImportError('it has too many alternatives');
  return all;
}

/**
 * The alternatives of `AND`: one of each list, together.
 * @throws {ImportError} when there are too many, or a rule of Weir cannot hold two of them.
 */
export function allOf(lists: readonly (readonly Matchers[])[]): readonly Matchers[] {
  let found: readonly Matchers[] = [{}];
  for (const list of lists) {
    if (found.length * list.length > MOST_ALTERNATIVES) {
      throw new ImportError('it has too many alternatives');
    }
    found = found.flatMap((one) =>
      list.map((other) => both(one, other)).filter((each) => each !== undefined),
    );
  }
  return found;
}

/** Matchers that match where both do; `undefined` when they never do. */
function both(one: Matchers, other: Matchers): Matchers | undefined {
  for (const [key, value] of Object.entries(one)) {
    const another: unknown = other[key as keyof Matchers];
    if (another === undefined || JSON.stringify(another) === JSON.stringify(value)) continue;
    if (key === 'network') return undefined;
    throw new ImportError(`one rule of Weir cannot ask for two of ${key} at once`);
  }
  return { ...one, ...other };
}
