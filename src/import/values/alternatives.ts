import { ImportError } from '../../protocols/forms/draft.ts';
import type { Matchers } from '../routing.ts';

/** Maximum number of alternatives of one rule. */
const MAX_ALTERNATIVES = 64;

/**
 * The conjunction of two lists of alternatives: every pair of one from each. Pairs that no flow can match are left out.
 * @throws {ImportError} when a pair has two conditions of the same kind, which a rule of Weir cannot express, or there
 * are too many pairs
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
