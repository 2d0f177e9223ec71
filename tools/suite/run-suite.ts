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

/** A suite, or some of its files. */
export interface Selection {
  readonly suite: Omit<Suite, 'files'>;
  readonly files: readonly string[];
}

/**
 * Runs test files, some at a time, and reports as `node --test` does. The files of a suite begin as soon as those of
 * the suite before leave room, so that no core waits for the last file of a suite. Where tests start processes, files
 * that fail are run once more, one by one after all others: what fails then has failed.
 *
 * @param interrupted ends the files that run, and begins none
 * @returns the results of the suites in their order
 */
export async function runSuites(
  selections: readonly Selection[],
  output: NodeJS.WritableStream,
  interrupted?: AbortSignal,
): Promise<readonly SuiteRun[]> {
  const room = new Room();
  const running: RunningSuite[] = [];
  try {
    for (const selection of selections) {
      const around = await moduleAround(selection.suite.around);
      await around.globalSetup?.();
      const suite = new RunningSuite(selection, around, output);
      running.push(suite);
      await suite.begin(room, interrupted);
      if (interrupted?.aborted === true) break;
    }
    for (const suite of running) await suite.firstEnded;
    const results: SuiteRun[] = [];
    for (const suite of running) results.push(await suite.end(interrupted));
    return results;
  } finally {
    for (const { around } of running) await around.globalTeardown?.();
  }
}

/** One suite of a run. */
class RunningSuite {
  readonly around: Around;
  readonly #selection: Selection;
  readonly #output: NodeJS.WritableStream;
  readonly #began = performance.now();
  /** The results of all of its files at their first attempt. */
  #first: Promise<readonly FileRun[]> | undefined;
  #ms = 0;

  constructor(selection: Selection, around: Around, output: NodeJS.WritableStream) {
    this.#selection = selection;
    this.around = around;
    this.#output = output;
  }

  /** Settles once all files have ended. */
  get firstEnded(): Promise<unknown> | undefined {
    return this.#first;
  }

  /** Returns once all of its files have begun. */
  async begin(room: Room, interrupted: AbortSignal | undefined): Promise<void> {
    const { suite, files } = this.#selection;
    const report = new Report(this.#output);
    const runs: Promise<FileRun>[] = [];
    for (const group of groupsOf(files, suite.together ?? 1)) {
      const leave = await room.enter(1 / suite.width);
      if (interrupted?.aborted === true) break;
      const run = runFiles(group, suite, interrupted).finally(leave);
      runs.push(run.then((result) => (report.add(result.events), result)));
    }
    this.#first = Promise.all(runs).then(async (results) => {
      await report.end();
      this.#ms = performance.now() - this.#began;
      return results;
    });
  }

  /** Runs again what has failed, and writes the closing lines. */
  async end(interrupted: AbortSignal | undefined): Promise<SuiteRun> {
    const { suite } = this.#selection;
    const runs = (await this.#first) ?? [];
    const { results, flaky } =
      suite.startsProcesses && interrupted?.aborted !== true
        ? await runAgain(runs, suite, this.#output, interrupted)
        : { results: runs, flaky: [] };
    close(this.#output, results, flaky, this.#ms);
    return { files: results, flaky };
  }
}

/** The machine, of which each file takes a part while it runs. */
class Room {
  #free = 1;
  #waiting: { readonly part: number; readonly enter: () => void } | undefined;

  /**
   * Waits for a part of the machine. For one caller at a time.
   * @returns a function that gives it back
   */
  async enter(part: number): Promise<() => void> {
    if (!this.#has(part)) await new Promise<void>((enter) => (this.#waiting = { part, enter }));
    this.#free -= part;
    return () => {
      this.#free += part;
      const waiting = this.#waiting;
      if (!waiting || !this.#has(waiting.part)) return;
      this.#waiting = undefined;
      waiting.enter();
    };
  }

  /** Thirds do not add up to one. */
  #has(part: number): boolean {
    return this.#free >= part - 1e-9;
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
