import { cpus, totalmem } from 'node:os';
import type { Case } from './case.ts';
import { isPeer, type ContestantName } from './contestants.ts';
import type { Figures } from './load/messages.ts';
import { bestOf, judge, medians, ratio, type Rounds } from './results.ts';

/** The whole result as Markdown; `notes` are lines on what could not be measured. */
export function markdown(
  cases: readonly Case[],
  names: readonly ContestantName[],
  rounds: Rounds,
  notes: readonly string[],
): string {
  // Relays and tunnels have other contestants, hence a table each.
  const groups = [
    cases.filter(({ tunnel, setting }) => tunnel === undefined && setting === undefined),
    cases.filter(({ setting }) => setting === 'tun'),
    cases.filter(({ setting }) => setting === 'wireguard'),
    cases.filter(({ tunnel }) => tunnel !== undefined),
  ].filter((group) => group.length > 0);
  const tables = groups.flatMap((group) => {
    const able = names.filter((name) => group.some((test) => test.contestants.includes(name)));
    return [mainTable(group, able, rounds), details(group, able, rounds)];
  });
  const left = notes.length > 0 ? [notes.map((note) => `- ${note}`).join('\n')] : [];
  return [machine(), ...left, ...tables].join('\n\n');
}

/** The whole result as data, every round included. */
export function json(cases: readonly Case[], rounds: Rounds): object {
  return {
    machine: machine(),
    cases: cases.map((test) => {
      const byName = rounds.get(test.name) ?? new Map<ContestantName, Figures[]>();
      return {
        name: test.name,
        title: test.title,
        figure: test.figure,
        rounds: Object.fromEntries(byName),
        medians: Object.fromEntries(Array.from(byName, ([name, all]) => [name, medians(all)])),
        goals: judge(test, byName),
      };
    }),
  };
}

function machine(): string {
  const processors = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  const model = processors[0]?.model.trim() ?? 'unknown processor';
  return `${processors.length} × ${model}, ${memory} GB, Node ${process.version}`;
}

function mainTable(
  cases: readonly Case[],
  names: readonly ContestantName[],
  rounds: Rounds,
): string {
  const others = names.filter((name) => name !== 'weir' && name !== 'direct');
  const ratios = others.map((name) => `Weir / ${name}`);
  const best = ['Weir / best peer', 'processor, Weir / best peer'];
  const head = ['case', 'unit', ...names, ...ratios, ...best, 'goal'];
  const rows = cases.map((test) => {
    const byName = rounds.get(test.name) ?? new Map<ContestantName, Figures[]>();
    const values = names.map((name) => {
      const value = medians(byName.get(name) ?? [])[test.figure];
      return value === undefined ? '–' : (value / test.divisor).toFixed(test.digits);
    });
    const weir = byName.get('weir');
    const against = others.map((name) => fixed(ratio(test.figure, weir, byName.get(name)), 2));
    const toBest = (figure: string, better: Case['better']): string => {
      const best = bestOf(names.filter(isPeer), figure, better, byName);
      if (best === undefined) return '–';
      return `${fixed(ratio(figure, weir, byName.get(best)), 2)} (${best})`;
    };
    const processor = test.work ? toBest('cpuPerUnit', 'lower') : '–';
    const goals = judge(test, byName).map(({ text, met }) => `${text}: ${met ? 'met' : 'missed'}`);
    const cells = [...against, toBest(test.figure, test.better), processor];
    return [test.title, test.unit, ...values, ...cells, goals.join('; ')];
  });
  return table(head, rows);
}

/** The figures behind the main ones: tails, processor time, event-loop delay. */
function details(cases: readonly Case[], names: readonly ContestantName[], rounds: Rounds): string {
  const head = [
    'case',
    'contestant',
    'p99 ms',
    'cores',
    'CPU time per unit',
    'loop delay p99 / max ms',
    'RSS MB',
    'path: lost / no room / cores',
  ];
  const rows = cases.flatMap((test) =>
    names.flatMap((name) => {
      const all = rounds.get(test.name)?.get(name);
      if (!all || all.length === 0) return [];
      const f = medians(all);
      const loop =
        f['loopP99'] === undefined ? '–' : `${fixed(f['loopP99'], 1)} / ${fixed(f['loopMax'], 1)}`;
      const lost = f['lost'] ? ` (${(f['lost'] * 100).toFixed(2)} % lost)` : '';
      return [
        [
          test.title + lost,
          name,
          fixed(f['p99'], 3),
          fixed(f['cores'], 2),
          cpuPerWork(test, f),
          loop,
          f['memory'] === undefined ? '–' : fixed(f['memory'] / 2 ** 20, 0),
          pathFigures(f),
        ],
      ];
    }),
  );
  return table(head, rows);
}

/** What the path between two ends did, beside what was asked of it. */
function pathFigures(figures: Figures): string {
  const { pathLoss, pathFull, pathCores } = figures;
  if (pathLoss === undefined || pathFull === undefined) return '–';
  const percent = (part: number): string => `${(part * 100).toFixed(2)} %`;
  return `${percent(pathLoss)} / ${percent(pathFull)} / ${fixed(pathCores, 2)}`;
}

/** Sums over the contestant's processes. */
function cpuPerWork(test: Case, figures: Figures): string {
  const { cpuPerUnit } = figures;
  if (!test.work || cpuPerUnit === undefined) return '–';
  return `${(cpuPerUnit * test.work.divisor * 1000).toFixed(0)} ms per ${test.work.per}`;
}

const fixed = (value: number | undefined, digits: number): string =>
  value === undefined || Number.isNaN(value) ? '–' : value.toFixed(digits);

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
