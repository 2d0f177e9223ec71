import { MOST_CLIENTS, toJson } from './attack.ts';
import { evaluate, type Cost } from './evaluate.ts';
import { measureHonest, type HonestCost } from './honest.ts';
import type { Found, Objective } from './search.ts';
import { nameOf, type Target } from './target.ts';

/** Batches of one input against a fresh process; the first compiles and fills pools. */
const ROUNDS = 3;

/** What the table says about one inbound. */
export interface Row {
  readonly name: string;
  readonly target: Target;
  readonly honest: HonestCost;
  readonly worst: ReadonlyMap<Objective, Found>;
  /** Inputs that the search has tried. */
  readonly tried: number;
}

/**
 * Measures the best of each objective again, in a process that has seen nothing else: the lower median of the
 * rounds, and of turns the least of their longest ones, because a pause that is not repeated is not the input's.
 */
export async function confirm(
  target: Target,
  best: ReadonlyMap<Objective, Found>,
  tried: number,
): Promise<Row> {
  await using running = await target.start();
  const { observed, place } = running;
  const honest = await measureHonest(running.honest, observed);
  const worst = new Map<Objective, Found>();
  const measured = new Map<string, Cost>();
  for (const [objective, { attack }] of best) {
    const clients = objective.startsWith('memory') ? MOST_CLIENTS : attack.clients;
    const key = JSON.stringify([clients, toJson(attack)]);
    // One input is often the worst in several ways.
    let cost = measured.get(key);
    if (!cost) {
      const costs: Cost[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const next = await evaluate({ ...attack, clients }, place, observed, honest);
        if (round > 0) costs.push(next);
      }
      cost = middle(costs);
      measured.set(key, cost);
    }
    worst.set(objective, { attack, cost });
  }
  return { name: nameOf(target), target, honest, worst, tried };
}

function middle(costs: readonly Cost[]): Cost {
  const of = (key: keyof Cost): number => {
    const sorted = costs.map((cost) => cost[key]).sort((a, b) => a - b);
    return sorted[(sorted.length - 1) >> 1] ?? 0;
  };
  return {
    bytes: of('bytes'),
    micros: of('micros'),
    ratio: of('ratio'),
    held: of('held'),
    resident: of('resident'),
    longestTurn: Math.min(...costs.map(({ longestTurn }) => longestTurn)),
  };
}
