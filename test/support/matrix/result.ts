import { appendFileSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Protocol } from '../ways/way.ts';
import type { Column } from './cell.ts';

/** What came of one cell. */
export interface Result extends Column {
  readonly protocol: Protocol;
  /** The row's title. */
  readonly row: string;
  readonly outcome: Outcome;
  /** Of each body that was sent. */
  readonly megabytes: number;
  /** The notes below the table that belong to the cell. */
  readonly notes: readonly string[];
}

export type Outcome = 'TCP' | 'TCP UDP' | 'failed' | 'not run' | 'impossible';

/** The folder in which the processes of a run leave their results; of two for a cell the later counts. */
export const RESULTS = 'WEIR_INTEROP_RESULTS';

/** Keeps a result for the table at the end of the run, if there is to be one. */
export function keep(result: Result): void {
  const folder = process.env[RESULTS];
  if (folder === undefined) return;
  appendFileSync(join(folder, `${process.pid}.jsonl`), `${JSON.stringify(result)}\n`);
}

export function resultsIn(folder: string): Result[] {
  const files = readdirSync(folder).map((name) => join(folder, name));
  const age = (file: string): number => statSync(file).mtimeMs;
  return files
    .sort((a, b) => age(a) - age(b))
    .flatMap((file) => readFileSync(file, 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Result);
}
