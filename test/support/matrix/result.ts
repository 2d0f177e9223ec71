import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Protocol } from '../ways/way.ts';
import type { Column } from './cell.ts';

/** What came of one cell. */
export interface Result extends Column {
  readonly protocol: Protocol;
  /** The row's title. */
  readonly row: string;
  readonly outcome: Outcome;
  /** What the cell's footnotes say. */
  readonly notes: readonly string[];
}

export type Outcome = 'TCP' | 'TCP UDP' | 'failed' | 'not run' | 'impossible';

/** The folder in which the processes of one run leave their results. */
export const RESULTS = 'WEIR_INTEROP_RESULTS';

/** Keeps a result for the table at the end of the run, if there is to be one. */
export function keep(result: Result): void {
  const folder = process.env[RESULTS];
  if (folder === undefined) return;
  appendFileSync(join(folder, `${process.pid}.jsonl`), `${JSON.stringify(result)}\n`);
}

export const resultsIn = (folder: string): Result[] =>
  readdirSync(folder).flatMap((name) =>
    readFileSync(join(folder, name), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Result),
  );
