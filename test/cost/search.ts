import { SeededRandom } from '../support/simnet/seeded-random.ts';
import type { Attack } from './attack.ts';
import type { Cost } from './evaluate.ts';
import { bounded, mutate } from './mutate.ts';

/** What the search maximises, each by itself. */
export const OBJECTIVES = {
  'work against an honest flow': ({ ratio }: Cost) => ratio,
  'time per byte': ({ micros, bytes }: Cost) => micros / bytes,
  'time per connection': ({ micros }: Cost) => micros,
  'memory per byte': ({ held, bytes }: Cost) => held / bytes,
  'memory per connection': ({ held }: Cost) => held,
  'longest turn': ({ longestTurn }: Cost) => longestTurn,
} as const;

export type Objective = keyof typeof OBJECTIVES;

export const OBJECTIVE_NAMES = Object.keys(OBJECTIVES) as readonly Objective[];

export interface Found {
  readonly attack: Attack;
  readonly cost: Cost;
}

/** The best of each objective that parents are chosen from. */
const ELITE = 6;

export interface SearchOptions {
  readonly seeds: readonly Attack[];
  readonly seed: number;
  /** Time limit of the search, in milliseconds. */
  readonly milliseconds: number;
  readonly evaluate: (attack: Attack) => Promise<Cost>;
}

export interface SearchResult {
  readonly best: ReadonlyMap<Objective, Found>;
  /** Inputs that were tried. */
  readonly tried: number;
}

/**
 * An evolutionary search: tries all seeds, then children of the best of each objective in turn. An input
 * that would be the best is tried twice, and the lesser figure counts, since a busy machine only adds.
 */
export async function searchWorst({
  seeds,
  seed,
  milliseconds,
  evaluate,
}: SearchOptions): Promise<SearchResult> {
  const random = new SeededRandom(seed);
  const end = performance.now() + milliseconds;
  const elites = new Map(OBJECTIVE_NAMES.map((name) => [name, [] as Found[]]));
  let tried = 0;
  const consider = async (attack: Attack): Promise<void> => {
    const first = await evaluate(attack);
    tried++;
    let confirmed: Cost | undefined;
    for (const name of OBJECTIVE_NAMES) {
      const elite = elites.get(name) as Found[]; // one for each name
      const score = OBJECTIVES[name];
      const [best] = elite;
      const worst = elite.at(-1);
      if (elite.length >= ELITE && worst && score(first) <= score(worst.cost)) continue;
      let cost = first;
      if (!best || score(first) > score(best.cost)) {
        confirmed ??= await evaluate(attack);
        cost = score(confirmed) < score(first) ? confirmed : first;
      }
      elite.push({ attack, cost });
      elite.sort((a, b) => score(b.cost) - score(a.cost));
      elite.splice(ELITE);
    }
  };
  for (const one of seeds) await consider(bounded(one));
  while (performance.now() < end) {
    const name = OBJECTIVE_NAMES[tried % OBJECTIVE_NAMES.length] as Objective; // in range
    const elite = elites.get(name) as Found[]; // one for each name
    const parent = elite[random.below(elite.length)];
    if (parent) await consider(mutate(parent.attack, random, seeds));
  }
  const best = new Map<Objective, Found>();
  for (const [name, [first]] of elites) if (first) best.set(name, first);
  return { best, tried };
}
