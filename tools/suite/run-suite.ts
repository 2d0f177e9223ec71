import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { spec, type TestEvent } from 'node:test/reporters';
import { pathToFileURL } from 'node:url';
import { COUNTS, runFiles, type FileRun } from './run-file.ts';
import type { Suite } from './suites.ts';

/** Tests of one run that may pass at their second attempt only. */
export const MOST_FLAKY = 3;

/** Failed files beyond which none is run again: that is a defect, or a machine that is too slow. */
const MOST_RUN_AGAIN = 12;

const TESTS = join(import.meta.dirname, '../../test');

/** The results of all files of one run, those that were run again by their second. */
export interface SuiteRun {
  readonly files: readonly FileRun[];
  /** Tests that failed first and passed alone: `FILE: NAME`. */
  readonly flaky: readonly string[];
}

/** Whether what a run found lets it pass. */
export const hasPassed = ({ files, flaky }: SuiteRun): boolean =>
  files.every(({ ok }) => ok) && flaky.length <= MOST_FLAKY;

/**
 * Runs test files, some at a time, and reports as `node --test` does. Where tests start processes, files
 * that fail are run once more, one by one after all others: what fails then has failed.
 *
 * @param interrupted ends the files that run, and begins none
 */
export async function runSuite(
  suite: Omit<Suite, 'files'>,
  files: readonly string[],
  output: NodeJS.WritableStream,
  interrupted?: AbortSignal,
): Promise<SuiteRun> {
  const began = performance.now();
  const around = await moduleAround(suite.around);
  await around.globalSetup?.();
  try {
    const report = new Report(output);
    const runs = await inLanes(
      groupsOf(files, suite.together ?? 1),
      suite.width,
      async (group) => {
        const result = await runFiles(group, suite, interrupted);
        report.add(result.events);
        return result;
      },
      interrupted,
    );
    await report.end();
    const { results, flaky } =
      suite.startsProcesses && interrupted?.aborted !== true
        ? await runAgain(runs, suite, output, interrupted)
        : { results: runs, flaky: [] };
    close(output, results, flaky, performance.now() - began);
    return { files: results, flaky };
  } finally {
    await around.globalTeardown?.();
  }
}

/** What surrounds the files of a suite. */
interface Around {
  readonly globalSetup?: () => unknown;
  readonly globalTeardown?: () => unknown;
}

/** @param path of a module below `test/`, as in a suite */
export const moduleAround = async (path: string | undefined): Promise<Around> =>
  path === undefined ? {} : ((await import(pathToFileURL(join(TESTS, path)).href)) as Around);

function groupsOf(files: readonly string[], size: number): readonly (readonly string[])[] {
  const count = Math.ceil(files.length / size);
  return Array.from({ length: count }, (_, at) => files.slice(at * size, (at + 1) * size));
}

/** Gives each group to the next of `width` lanes that is free; the results are in their order. */
async function inLanes(
  groups: readonly (readonly string[])[],
  width: number,
  each: (group: readonly string[]) => Promise<FileRun>,
  interrupted: AbortSignal | undefined,
): Promise<FileRun[]> {
  const results: FileRun[] = [];
  const waiting = groups.entries();
  const lane = async (): Promise<void> => {
    for (const [index, group] of waiting) {
      results[index] = await each(group);
      if (interrupted?.aborted === true) return;
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  return results.filter((each) => each !== undefined);
}

async function runAgain(
  runs: readonly FileRun[],
  suite: Omit<Suite, 'files'>,
  output: NodeJS.WritableStream,
  interrupted: AbortSignal | undefined,
): Promise<{ readonly results: readonly FileRun[]; readonly flaky: readonly string[] }> {
  const failed = runs.filter(({ ok }) => !ok);
  if (failed.length === 0) return { results: runs, flaky: [] };
  if (failed.length > MOST_RUN_AGAIN) {
    output.write(`\n${failed.length} files failed: none of them is run again\n`);
    return { results: runs, flaky: [] };
  }
  const second = new Map<FileRun, FileRun>();
  for (const first of failed) {
    output.write(`\n${first.files.join(' ')} failed and is run once more, alone\n\n`);
    const report = new Report(output);
    const again = await runFiles(first.files, suite, interrupted);
    report.add(again.events);
    await report.end();
    second.set(first, again);
  }
  return {
    results: runs.map((each) => second.get(each) ?? each),
    flaky: failed
      .filter((first) => second.get(first)?.ok === true)
      .flatMap(({ files, failures }) => failures.map((name) => `${files.join(' ')}: ${name}`)),
  };
}

/** Node's reporter for people, which names the failures of all files at its end. */
export class Report {
  readonly #spec = new spec();
  readonly #written: Promise<unknown>;

  constructor(output: NodeJS.WritableStream) {
    this.#written = finished(this.#spec.on('data', (text: string) => output.write(text)));
  }

  add(events: readonly TestEvent[]): void {
    for (const event of events) this.#spec.write(event);
  }

  async end(): Promise<void> {
    this.#spec.end();
    await this.#written;
  }
}

/** The closing lines, in the form of node's reporter, and the number of flaky tests with their names. */
function close(
  output: NodeJS.WritableStream,
  runs: readonly FileRun[],
  flaky: readonly string[],
  ms: number,
): void {
  output.write('\n');
  for (const each of flaky) output.write(`flaky: ${each}\n`);
  for (const name of COUNTS) {
    output.write(`ℹ ${name} ${runs.reduce((sum, { counts }) => sum + counts[name], 0)}\n`);
  }
  output.write(`ℹ flaky ${flaky.length}\nℹ duration_ms ${ms.toFixed(0)}\n`);
  if (flaky.length > MOST_FLAKY)
    output.write(`${flaky.length} flaky tests: more than ${MOST_FLAKY} fail the run\n`);
}
