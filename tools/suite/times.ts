import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { FileRun } from './run-file.ts';

/** Where the last run of each suite leaves how long its files and tests took. */
const FOLDER = join(import.meta.dirname, '../../out/test-times');

export type FileTimes = Pick<FileRun, 'files' | 'ms' | 'tests'>;

/** How long a test or a file took. */
export interface Timed {
  readonly suite: string;
  readonly what: string;
  readonly ms: number;
}

export function keepTimes(suite: string, runs: readonly FileTimes[]): void {
  mkdirSync(FOLDER, { recursive: true });
  const times = runs.map(({ files, ms, tests }): FileTimes => ({ files, ms, tests }));
  writeFileSync(join(FOLDER, `${suite}.json`), JSON.stringify(times));
}

/** The times of the last run of each suite. */
export const keptTimes = (): ReadonlyMap<string, readonly FileTimes[]> =>
  new Map(
    globSync(join(FOLDER, '*.json')).map((path) => [
      basename(path, '.json'),
      JSON.parse(readFileSync(path, 'utf8')) as FileTimes[],
    ]),
  );

/** The tests of a suite, or its files: by their processes, or by their tests where they share one. */
export const timedOf = (
  suite: string,
  runs: readonly FileTimes[],
  unit: 'tests' | 'files',
): readonly Timed[] =>
  runs.flatMap(({ files, ms, tests }) => {
    if (unit === 'tests')
      return tests.map((test) => ({ suite, what: `${test.file}: ${test.name}`, ms: test.ms }));
    const [file, ...others] = files;
    if (others.length === 0) return [{ suite, what: `${file}, ${tests.length} tests`, ms }];
    return Array.from(
      Map.groupBy(tests, (test) => test.file),
      ([name, own]) => ({
        suite,
        what: `${name}, ${own.length} tests`,
        ms: own.reduce((sum, test) => sum + test.ms, 0),
      }),
    );
  });

/** A line for each of the slowest, and one with their share of the time of all. */
export function slowestLines(all: readonly Timed[], count: number): readonly string[] {
  const sum = (some: readonly Timed[]): number => some.reduce((total, { ms }) => total + ms, 0);
  const slowest = all.toSorted((a, b) => b.ms - a.ms).slice(0, count);
  const share = all.length === 0 ? 0 : (100 * sum(slowest)) / sum(all);
  return [
    ...slowest.map(
      ({ suite, what, ms }) => `${(ms / 1000).toFixed(1).padStart(6)} s  ${suite}  ${what}`,
    ),
    `${slowest.length} of ${all.length}: ${share.toFixed(0)} % of ${(sum(all) / 1000).toFixed(0)} s`,
  ];
}
