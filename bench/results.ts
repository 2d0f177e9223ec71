import type { Case, Goal } from './case.ts';
import type { ContestantName } from './contestants.ts';
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

export function judge(test: Case, rounds: ReadonlyMap<ContestantName, Figures[]>): Verdict[] {
  const weir = rounds.get('weir');
  if (!weir || weir.length === 0) return [];
  return test.goals.flatMap((goal): Verdict[] => {
    if ('atMost' in goal) {
      const value = (medians(weir)[test.figure] ?? NaN) / test.divisor;
      const text = `at most ${goal.atMost} ${test.unit}`;
      return [{ goal, text, value, met: value <= goal.atMost }];
    }
    const value = ratio(test.figure, weir, rounds.get(goal.against));
    if (value === undefined) return [];
    const text = `at least ${goal.atLeast} of ${goal.against}`;
    return [{ goal, text, value, met: value >= goal.atLeast }];
  });
}
