import { ImportError } from '../../protocols/forms/draft.ts';
import type { Matchers } from '../routing.ts';

/** Maximum number of alternatives of one rule. */
const MOST_ALTERNATIVES = 64;

/** The reason why a rule without alternatives is not needed. */
export const MATCHES_NEVER = 'its parts exclude each other';

/** The alternatives of `OR`. @throws {ImportError} when there are too many */
export function oneOf(lists: readonly (readonly Matchers[])[]): readonly Matchers[] {
  const all = lists.flat();
  if (all.length > MOST_ALTERNATIVES) throw new ImportError('it has too many alternatives');
  return all;
}

/**
 * The alternatives of `AND`: every combination of one from each list.
 * @throws {ImportError} when there are too many, or a rule of Weir cannot have both conditions of a combination
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

/** Combines two matchers to their conjunction; `undefined` if no flow can match both. */
function both(one: Matchers, other: Matchers): Matchers | undefined {
  for (const [key, value] of Object.entries(one)) {
    const another: unknown = other[key as keyof Matchers];
    if (another === undefined || JSON.stringify(another) === JSON.stringify(value)) continue;
    if (key === 'network') return undefined;
    throw new ImportError(`one rule of Weir cannot ask for two of ${key} at once`);
  }
  return { ...one, ...other };
}
