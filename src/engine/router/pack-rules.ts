import { SPACES, type Condition, type IndexedRule } from './conditions.ts';

/**
 * Rules as numbers in one array, which goes from one thread to another without a copy; as objects
 * ten thousand of them would hold up the thread that receives them.
 *
 * Of each rule its position and the number of its conditions; of each condition its space, how many
 * lists and how many outside lists it has, and these.
 */
export type PackedRules = Uint32Array;

export function packRules(rules: readonly IndexedRule[]): PackedRules {
  const numbers: number[] = [];
  for (const { rule, conditions } of rules) {
    numbers.push(rule, conditions.length);
    for (const { space, lists, outside } of conditions) {
      numbers.push(SPACES.indexOf(space), lists.length, outside.length);
      for (const list of lists) numbers.push(list);
      for (const list of outside) numbers.push(list);
    }
  }
  return Uint32Array.from(numbers);
}

export function unpackRules(packed: PackedRules): IndexedRule[] {
  const rules: IndexedRule[] = [];
  let at = 0;
  const next = (): number => packed[at++] ?? 0;
  const some = (count: number): number[] => Array.from({ length: count }, next);
  while (at < packed.length) {
    const rule = next();
    const conditions: Condition[] = [];
    for (let left = next(); left > 0; left--) {
      const space = SPACES[next()] ?? 'domain';
      const lists = next();
      const outside = next();
      conditions.push({ space, lists: some(lists), outside: some(outside) });
    }
    rules.push({ rule, conditions });
  }
  return rules;
}
