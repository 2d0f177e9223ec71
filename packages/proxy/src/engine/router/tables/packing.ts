import { type Facts, type IndexedRule, QUERY_FIELDS } from '../conditions.ts';

/** Lists of numbers, one after the other in one array, which is transferred without a copy. */
interface PackedLists {
  readonly items: Uint32Array;
  /** End of each list in `items`; a list starts where the previous one ends. */
  readonly ends: Uint32Array;
}

/**
 * Packs lists.
 * @param lists `undefined` stands for an empty one.
 */
export function packLists(lists: Iterable<readonly number[] | undefined>): PackedLists {
  const items: number[] = [];
  const ends: number[] = [];
  for (const list of lists) {
    for (const item of list ?? []) items.push(item);
    ends.push(items.length);
  }
  return { items: Uint32Array.from(items), ends: Uint32Array.from(ends) };
}

/**
 * Rules as numbers in one array, which is transferred between threads without a copy. As objects, ten thousand rules
 * would block the thread that deserialises them.
 *
 * A rule is its position in the configuration, the number of its conditions, and its conditions. A condition is its
 * field, the numbers of its lists and of its outside lists, the lists, and the outside lists.
 */
interface PackedRules {
  readonly numbers: Uint32Array;
  /** Start of each rule in `numbers`. */
  readonly starts: readonly number[];
}

export function packRules(rules: readonly IndexedRule[]): PackedRules {
  const numbers: number[] = [];
  const starts: number[] = [];
  for (const { rule, conditions } of rules) {
    starts.push(numbers.length);
    numbers.push(rule, conditions.length);
    for (const { field, lists, outside } of conditions) {
      numbers.push(QUERY_FIELDS.indexOf(field), lists.length, outside.length);
      for (const list of lists) numbers.push(list);
      for (const list of outside) numbers.push(list);
    }
  }
  return { numbers: Uint32Array.from(numbers), starts };
}

/** Returns the position of the rule that starts at `at`. */
export const positionOf = (numbers: Uint32Array, at: number): number => numbers[at] ?? 0;

/** Whether every condition of the rule that starts at `at` holds. */
export function holdsAt(numbers: Uint32Array, at: number, facts: Facts): boolean {
  let next = at + 2;
  for (let left = numbers[at + 1] ?? 0; left > 0; left--) {
    const field = QUERY_FIELDS[numbers[next] ?? 0] ?? 'domain';
    const outsideFrom = next + 3 + (numbers[next + 1] ?? 0);
    const end = outsideFrom + (numbers[next + 2] ?? 0);
    const hits = facts.hits(field);
    if (!hits) return false;
    let holds = false;
    for (let list = next + 3; list < end && !holds; list++) {
      holds = hits.has(numbers[list] ?? 0) === list < outsideFrom;
    }
    if (!holds) return false;
    next = end;
  }
  return true;
}
