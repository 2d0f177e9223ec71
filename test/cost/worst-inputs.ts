import { toJson, type AttackJson } from './attack.ts';
import type { Found, Objective } from './search.ts';

/** The costliest inputs of one target, as a file of `test/cost/worst` has them. */
export interface WorstInputs {
  readonly target: string;
  /** Of the search. */
  readonly seed: number;
  readonly inputs: readonly WorstInput[];
}

/** An input, and in which ways it is the worst. */
export interface WorstInput {
  readonly objectives: readonly Objective[];
  readonly attack: AttackJson;
}

/** One input is often the worst in several ways. */
export function inputsOf(worst: ReadonlyMap<Objective, Found>): readonly WorstInput[] {
  const inputs = new Map<string, { objectives: Objective[]; attack: AttackJson }>();
  for (const [objective, { attack }] of worst) {
    const json = toJson(attack);
    const key = JSON.stringify(json);
    const known = inputs.get(key);
    if (known) known.objectives.push(objective);
    else inputs.set(key, { objectives: [objective], attack: json });
  }
  return [...inputs.values()];
}
