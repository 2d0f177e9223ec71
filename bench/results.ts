import { GOAL_FIGURES, type Case, type Goal } from './case.ts';
import { isPeer, type ContestantName } from './contestants.ts';
import type { Figures } from './load/messages.ts';
import { median } from './statistics.ts';

/** What was measured: for each case and contestant the figures of each round. */
export type Rounds = Map<string, Map<ContestantName, Figures[]>>;

export interface Verdict {
  readonly goal: Goal;
  readonly text: string;
  /** The ratio or the value that is compared with the goal. */
  readonly value: number;
  readonly met: boolean;
}

/** The median over the rounds of each figure. */
export function medians(rounds: readonly Figures[]): Figures {
  const names = new Set(rounds.flatMap((round) => Object.keys(round)));
  return Object.fromEntries(
    Array.from(names, (name) => [name, median(rounds.map((round) => round[name] ?? NaN))]),
  );
}

/**
 * The median over the rounds of the ratio within a round: measurements close in time
 * share the machine's other load.
 */
export function ratio(
  figure: string,
  of: readonly Figures[] | undefined,
  to: readonly Figures[] | undefined,
): number | undefined {
  const ratios = (of ?? []).flatMap((round, i) => {
    const [a, b] = [round[figure], to?.[i]?.[figure]];
    return a === undefined || b === undefined || b === 0 ? [] : [a / b];
  });
  return ratios.length > 0 ? median(ratios) : undefined;
}

/**
 * Of the contestants `among`, the one with the best median of `figure`; `undefined` when none has
 * that figure.
 */
export function bestOf(
  among: readonly ContestantName[],
  figure: string,
  better: Case['better'],
  rounds: ReadonlyMap<ContestantName, Figures[]>,
): ContestantName | undefined {
  const sign = better === 'higher' ? -1 : 1;
  return among
    .flatMap((name) => {
      const value = medians(rounds.get(name) ?? [])[figure];
      return value === undefined ? [] : [{ name, value }];
    })
    .toSorted((a, b) => sign * (a.value - b.value))[0]?.name;
}

/** Which goals of a case Weir has reached; those that lack the other contestant are left out. */
export function judge(test: Case, rounds: ReadonlyMap<ContestantName, Figures[]>): Verdict[] {
  const weir = rounds.get('weir');
  if (!weir || weir.length === 0) return [];
  return test.goals.flatMap((goal): Verdict[] => {
    const figure = goal.figure ?? test.figure;
    const what = goal.figure === undefined ? '' : `${GOAL_FIGURES[goal.figure]} `;
    const bound = 'atLeast' in goal ? `at least ${goal.atLeast}` : `at most ${goal.atMost}`;
    const verdict = (value: number | undefined, unit: string): Verdict[] => {
      if (value === undefined || Number.isNaN(value)) return [];
      const met = 'atLeast' in goal ? value >= goal.atLeast : value <= goal.atMost;
      return [{ goal, text: `${what}${bound}${unit}`, value, met }];
    };
    if (goal.against === undefined) {
      const [divisor, unit] = goal.figure === undefined ? [test.divisor, ` ${test.unit}`] : [1, ''];
      return verdict((medians(weir)[figure] ?? NaN) / divisor, unit);
    }
    const other = goal.against === 'the best peer' ? bestPeer(test, figure, rounds) : goal.against;
    if (other === undefined) return [];
    const name = other === goal.against ? other : `${goal.against} (${other})`;
    return verdict(ratio(figure, weir, rounds.get(other)), ` of ${name}`);
  });
}

/** The peer with the best median of a figure; less is better of all but the case's own one. */
function bestPeer(
  test: Case,
  figure: string,
  rounds: ReadonlyMap<ContestantName, Figures[]>,
): ContestantName | undefined {
  const better = figure === test.figure ? test.better : 'lower';
  return bestOf([...rounds.keys()].filter(isPeer), figure, better, rounds);
}
