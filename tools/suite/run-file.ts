import { join, relative, resolve } from 'node:path';
import { run } from 'node:test';
import type { TestEvent } from 'node:test/reporters';
import type { Suite } from './suites.ts';

/** Counts of tests, by the names that node's reporters give them. */
export const COUNTS = ['tests', 'suites', 'pass', 'fail', 'cancelled', 'skipped', 'todo'] as const;

export type Counts = Readonly<Record<(typeof COUNTS)[number], number>>;

/** A test without tests of its own, by the names of what it is in and its own. */
export interface TimedTest {
  /** Where it is defined, relative to the current folder. */
  readonly file: string;
  readonly name: string;
  readonly ms: number;
}

/** The results of one process, with one test file or several. */
export interface FileRun {
  readonly files: readonly string[];
  readonly ms: number;
  readonly ok: boolean;
  readonly counts: Counts;
  /** What failed by itself: not what failed or was cancelled because of another test or a hook. */
  readonly failures: readonly string[];
  readonly tests: readonly TimedTest[];
  /** For a reporter, without the counts at the end. */
  readonly events: readonly TestEvent[];
}

/** The name in place of a test's for a process that crashed, did not end in time or left no test. */
export const WHOLE_FILE = 'the file as a whole';

/** Failures that follow from another one, which is reported as well. */
const CONSEQUENCES = new Set(['subtestsFailed', 'cancelledByParent']);

/** The counts at the end of a run: of one file here, where those of all files are wanted. */
const COUNT = new RegExp(`^(${COUNTS.join('|')}|duration_ms) [\\d.]+$`);

/** A test file that imports those that are its arguments. */
const TOGETHER = join(import.meta.dirname, 'together.ts');

/**
 * Runs test files in a process of their own, which is ended at the limit for files. The timeout of
 * `node --test` is one of tests: a file that never returns, or keeps a handle, lasts for ever.
 *
 * @param interrupted ends the process at once
 */
export async function runFiles(
  files: readonly string[],
  {
    testSeconds,
    fileSeconds,
    env = {},
    nodeArgs = [],
  }: Pick<Suite, 'testSeconds' | 'fileSeconds' | 'env' | 'nodeArgs'>,
  interrupted?: AbortSignal,
): Promise<FileRun> {
  const began = performance.now();
  const limit = AbortSignal.timeout(fileSeconds * 1000);
  const collector = new EventCollector();
  const stream = run({
    ...(files.length === 1 ? { files } : { files: [TOGETHER], argv: files }),
    timeout: testSeconds * 1000,
    signal: interrupted ? AbortSignal.any([limit, interrupted]) : limit,
    env: { ...process.env, ...env },
    execArgv: [...nodeArgs],
  });
  for await (const event of stream) collector.add(event as TestEvent);
  const name = files.join(' ');
  if (limit.aborted) collector.say(`${name} was ended after ${fileSeconds} s`);
  const results = collector.results();
  // Node names no file then but the one that has imported them.
  if (files.length > 1 && results.failures.includes(WHOLE_FILE))
    collector.say(`the process that failed had ${name}`);
  return { files, ms: performance.now() - began, ...results };
}

/** Sorts the events of the run of one process. */
class EventCollector {
  readonly #events: TestEvent[] = [];
  readonly #failures: string[] = [];
  readonly #tests: TimedTest[] = [];
  /** The tests and suites that have begun and not ended, outermost first. */
  readonly #open: { readonly name: string; isParent: boolean }[] = [];
  #summary: Extract<TestEvent, { type: 'test:summary' }>['data'] | undefined;

  add(event: TestEvent): void {
    if (event.type === 'test:summary') {
      // The process of the file may report one too, which lacks its own end.
      if (event.data.file === undefined) this.#summary = event.data;
      return;
    }
    if (event.type === 'test:diagnostic' && event.data.file === undefined) {
      if (COUNT.test(event.data.message)) return;
    }
    if (event.type === 'test:start') this.#begin(event.data.name, event.data.nesting);
    if (event.type === 'test:pass' || event.type === 'test:fail') this.#end(event);
    this.#events.push(event);
  }

  /** Adds a line to the report. */
  say(message: string): void {
    this.#events.push({ type: 'test:diagnostic', data: { message, nesting: 0, level: 'error' } });
  }

  results(): Pick<FileRun, 'ok' | 'counts' | 'failures' | 'tests' | 'events'> {
    if (this.#summary === undefined) throw new Error('a run has ended without a summary');
    const { counts, success: ok } = this.#summary;
    const failed = counts.tests - counts.passed - counts.cancelled - counts.skipped - counts.todo;
    // A hook that fails after its tests makes none of them fail.
    const fail = ok ? 0 : Math.max(failed, counts.cancelled > 0 ? 0 : 1);
    // The process fails as well when it is ended while a test runs.
    const named = this.#failures.filter((name) => name !== WHOLE_FILE);
    const failures = ok || named.length > 0 ? named : [WHOLE_FILE];
    return {
      ok,
      counts: { ...counts, pass: counts.passed, fail },
      failures,
      tests: this.#tests,
      events: this.#events,
    };
  }

  #begin(name: string, nesting: number): void {
    const parent = this.#open[nesting - 1];
    if (parent) parent.isParent = true;
    this.#open.splice(nesting, Infinity, { name, isParent: false });
  }

  #end({ type, data }: Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>): void {
    const { name, nesting, details, file = '', todo } = data;
    const self = this.#open[nesting];
    const around = this.#open.slice(0, nesting).map((each) => each.name);
    const full = resolve(name) === file ? WHOLE_FILE : [...around, name].join(' › ');
    if (self?.isParent === false && full !== WHOLE_FILE)
      this.#tests.push({ file: relative('.', file), name: full, ms: details.duration_ms });
    if (type === 'test:pass' || (todo !== undefined && todo !== false)) return;
    const { error } = details as { readonly error: { readonly failureType?: string } };
    if (!CONSEQUENCES.has(error.failureType ?? '')) this.#failures.push(full);
  }
}
