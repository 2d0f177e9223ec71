import { holdsAt, packLists, packRules, positionOf } from './tables/packing.ts';
import {
  type Condition,
  type Facts,
  type IndexedRule,
  QUERY_FIELDS,
  type QueryField,
} from './conditions.ts';

/** An index as plain data. A rule is referred to by its start in `numbers`: see PackedRules. */
export interface RuleIndexData {
  readonly numbers: Uint32Array;
  /** Rules that are not filed under any list, in order. */
  readonly always: Uint32Array;
  readonly filed: readonly FiledRules[];
}

/** The rules that are filed under the lists of one field. */
export interface FiledRules {
  readonly field: QueryField;
  /** End of each list's rules in `rules`; they start where those of the previous list end. */
  readonly ends: Uint32Array;
  /** The rules of all lists, list by list. */
  readonly rules: Uint32Array;
}

/**
 * Files every rule under the lists of one of its conditions, its anchor.
 *
 * Only the rules that are filed under the lists of a query are examined, so that ten thousand rules cost no
 * more than the few that may match. Rules without a usable condition are always examined.
 *
 * @param rules in the order of the configuration
 */
export function buildRuleIndex(rules: readonly IndexedRule[]): RuleIndexData {
  const { numbers, starts } = packRules(rules);
  const always: number[] = [];
  const filed = new Map<QueryField, number[][]>();
  rules.forEach(({ conditions }, index) => {
    const start = starts[index] ?? 0;
    const anchor = anchorOf(conditions);
    if (!anchor) {
      always.push(start);
      return;
    }
    let lists = filed.get(anchor.field);
    if (!lists) filed.set(anchor.field, (lists = []));
    for (const list of new Set(anchor.lists)) (lists[list] ??= []).push(start);
  });
  return {
    numbers,
    always: Uint32Array.from(always),
    filed: Array.from(filed, ([field, lists]) => {
      const { items: rules, ends } = packLists(lists);
      return { field, rules, ends };
    }),
  };
}

/** Finds the first rule, in the order of the configuration, whose conditions all hold. */
export class RuleIndex {
  readonly #data: RuleIndexData;

  constructor(data: RuleIndexData) {
    this.#data = data;
  }

  /** Returns the position of the first matching rule before `limit`; `undefined` for none. */
  first(facts: Facts, limit = Infinity): number | undefined {
    const { always, filed } = this.#data;
    let best = this.#firstOf(always, 0, always.length, facts, limit);
    for (const { field, ends, rules } of filed) {
      for (const list of facts.hits(field)?.lists ?? []) {
        const from = list === 0 ? 0 : (ends[list - 1] ?? rules.length);
        best = this.#firstOf(rules, from, ends[list] ?? rules.length, facts, best);
      }
    }
    return best < limit ? best : undefined;
  }

  /** Returns the lowest matching position below `limit` among some rules; `limit` if there is none. */
  #firstOf(rules: Uint32Array, from: number, to: number, facts: Facts, limit: number): number {
    const { numbers } = this.#data;
    for (let index = from; index < to; index++) {
      const start = rules[index] ?? 0;
      const position = positionOf(numbers, start);
      if (position >= limit) break;
      if (holdsAt(numbers, start, facts)) return position;
    }
    return limit;
  }
}

/** Returns the condition that a rule is filed under; one with `outside` is not usable. */
function anchorOf(conditions: readonly Condition[]): Condition | undefined {
  const usable = conditions.filter(({ outside }) => outside.length === 0);
  for (const field of QUERY_FIELDS) {
    const condition = usable.find((candidate) => candidate.field === field);
    if (condition) return condition;
  }
  return undefined;
}
