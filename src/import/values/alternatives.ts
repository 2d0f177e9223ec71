import { ImportError } from '../draft.ts';
import type { Matchers } from '../routing.ts';

/** The most alternatives that one rule may become. */
const MAX_ALTERNATIVES = 64;

/**
 * A flow matches when one of `left` and one of `right` does. Pairs that no flow can match are left out.
 * @throws {ImportError} when two conditions of one kind would have to hold, which a rule of Weir cannot
 *   say, or there are too many pairs.
 */
export function both(left: readonly Matchers[], right: readonly Matchers[]): readonly Matchers[] {
  if (left.length * right.length > MAX_ALTERNATIVES) {
    throw new ImportError(`it would become more than ${MAX_ALTERNATIVES} rules`);
  }
  return left.flatMap((one) => right.flatMap((other) => joined(one, other)));
}

function joined(one: Matchers, other: Matchers): readonly Matchers[] {
  for (const [key, value] of Object.entries(other)) {
    const own: unknown = Object.hasOwn(one, key) ? one[key as keyof Matchers] : undefined;
    if (own === undefined || JSON.stringify(own) === JSON.stringify(value)) continue;
    if (key === 'network') return [];
    throw new ImportError(`it has two conditions on "${key}", of which both would have to hold`);
  }
  return [{ ...one, ...other }];
}
