import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { FileRun } from './run-file.ts';

/** Where the last run of each suite leaves how long its files and tests took. */
const FOLDER = join(import.meta.dirname, '../../out/test-times');

export type FileTimes = Pick<FileRun, 'file' | 'ms' | 'tests'>;

/** How long a test or a file took. */
export interface Timed {
  readonly suite: string;
  readonly what: string;
  readonly ms: number;
}

export function keepTimes(suite: string, files: readonly FileTimes[]): void {
  mkdirSync(FOLDER, { recursive: true });
  const times = files.map(({ file, ms, tests }): FileTimes => ({ file, ms, tests }));
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

/** The tests of a suite, or its files, whose times have the start of a process in them. */
export const timedOf = (
  suite: string,
  files: readonly FileTimes[],
  unit: 'tests' | 'files',
): readonly Timed[] =>
  files.flatMap(({ file, ms, tests }) =>
    unit === 'files'
      ? [{ suite, what: `${file}, ${tests.length} tests`, ms }]
      : tests.map((test) => ({ suite, what: `${file}: ${test.name}`, ms: test.ms })),
  );

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
