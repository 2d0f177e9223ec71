import { SPACES, type Condition, type IndexedRule, type Space } from './conditions.ts';
import { holds, type Facts } from './facts.ts';

/**
 * Finds the first rule, in the order of the configuration, of which all conditions hold.
 *
 * Every rule is filed under one of its conditions, its anchor: under each list of that condition. A
 * query is looked up in the tables, and only the rules filed under the lists that it is in are
 * examined; so ten thousand rules cost what the handful that could match cost. Only rules without
 * any condition that a list could serve are examined always.
 */
export class RuleIndex {
  /** By space and list: rules in order. */
  readonly #filed = new Map<Space, IndexedRule[][]>();
  readonly #always: IndexedRule[] = [];

  /** `rules` are in order. */
  constructor(rules: readonly IndexedRule[]) {
    for (const rule of rules) {
      const anchor = anchorOf(rule.conditions);
      if (anchor) this.#file(rule, anchor);
      else this.#always.push(rule);
    }
  }

  /** The position of the first matching rule, when one lies before `limit`. */
  first(facts: Facts, limit = Infinity): number | undefined {
    let best = firstOf(this.#always, facts, limit);
    for (const [space, lists] of this.#filed) {
      for (const list of facts.hits(space)?.lists ?? []) {
        best = firstOf(lists[list] ?? [], facts, best);
      }
    }
    return best < limit ? best : undefined;
  }

  #file(rule: IndexedRule, { space, lists }: Condition): void {
    let filed = this.#filed.get(space);
    if (!filed) this.#filed.set(space, (filed = []));
    for (const list of new Set(lists)) (filed[list] ??= []).push(rule);
  }
}

/** The condition by which a rule is found; one that holds outside of a list finds nothing. */
function anchorOf(conditions: readonly Condition[]): Condition | undefined {
  const usable = conditions.filter(({ outside }) => outside.length === 0);
  for (const space of SPACES) {
    const condition = usable.find((candidate) => candidate.space === space);
    if (condition) return condition;
  }
  return undefined;
}

/** The lowest matching position below `limit`, else `limit`. */
function firstOf(rules: readonly IndexedRule[], facts: Facts, limit: number): number {
  for (const { rule, conditions } of rules) {
    if (rule >= limit) break;
    if (conditions.every((condition) => holds(condition, facts))) return rule;
  }
  return limit;
}
