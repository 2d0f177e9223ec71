import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Entries } from '../architecture/entries.ts';
import {
  beginFile,
  collected,
  runAfterAll,
  runBeforeAll,
  runTest,
  type CollectedTest,
} from './collected-tests.ts';

/** What the instrumented code reads and writes (`INSTRUMENTER_CONSTANTS` of Stryker). */
interface Instrumented {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
  mutantCoverage?: unknown;
}

interface MutantRun {
  readonly activeMutant: { readonly id: string };
  readonly testFilter?: readonly string[];
  readonly hitLimit?: number;
  readonly mutantActivation: 'runtime' | 'static';
}

interface Options {
  readonly inProcess: { readonly testFiles: readonly string[] };
}

/** A mutant may let a test wait for what never comes: it fails after this, in milliseconds. */
const LEAST_WAIT = 1000;
/** The same, in multiples of what the test took without a mutant. */
const WAIT_FACTOR = 20;

/** What the packages in the current folder show to others. */
const ENTRIES = new Entries((path) => readFileSync(path, 'utf8'));

const NODE_TEST = new URL('collected-tests.ts', import.meta.url).href;

/**
 * A test runner of Stryker (kind `TestRunner`): imports the tests once and runs them again for each
 * mutant, which costs as much as the tests and no process.
 *
 * What a mutant leaves in the state of modules could fail a test of the next one. So a test that
 * noticed a mutant is run again without it; if it fails again, the process ends, and Stryker starts
 * another one for the mutant.
 */
class InProcessRunner {
  static readonly inject = ['options'] as const;
  readonly #files: readonly string[];
  readonly #state: Instrumented;
  /** What each test took, in milliseconds; known in the process of the dry run alone. */
  readonly #times = new Map<string, number>();
  #isLoaded = false;
  #stray: unknown;

  constructor(options: Options) {
    this.#files = options.inProcess.testFiles;
    const global = globalThis as { __stryker__?: Instrumented };
    this.#state = global.__stryker__ ??= {};
    // A promise or a callback that a mutant broke.
    const onStray = (error: unknown): void => void (this.#stray ??= error ?? new Error('stray'));
    process.on('unhandledRejection', onStray);
    process.on('uncaughtException', onStray);
  }

  capabilities(): { readonly reloadEnvironment: boolean } {
    return { reloadEnvironment: false };
  }

  async dryRun(): Promise<unknown> {
    await this.#load();
    const tests = [];
    for (const test of collected) {
      const before = performance.now();
      this.#state.currentTestId = test.id;
      const error = await this.#run(test);
      this.#state.currentTestId = undefined;
      const timeSpentMs = performance.now() - before;
      this.#times.set(test.id, timeSpentMs);
      const result = { id: test.id, name: test.id, timeSpentMs };
      const failureMessage = String(error instanceof Error ? error.stack : error);
      tests.push(
        error === undefined ? { ...result, status: 0 } : { ...result, status: 1, failureMessage },
      );
    }
    return { status: 'complete', tests, mutantCoverage: this.#state.mutantCoverage };
  }

  async mutantRun(run: MutantRun): Promise<unknown> {
    const state = this.#state;
    if (run.mutantActivation === 'static') state.activeMutant = run.activeMutant.id;
    await this.#load();
    const wanted = run.testFilter && new Set(run.testFilter);
    const tests = collected.filter(({ id }) => !wanted || wanted.has(id));
    Object.assign(state, { hitCount: 0, hitLimit: run.hitLimit ?? Infinity });
    for (const [index, test] of tests.entries()) {
      state.activeMutant = run.activeMutant.id;
      const error = await this.#run(test);
      const isEndless = (state.hitCount ?? 0) > (state.hitLimit ?? Infinity);
      if (error === undefined && !isEndless) continue;
      state.activeMutant = undefined;
      if ((await this.#run(test)) !== undefined && run.mutantActivation === 'runtime') {
        process.exit(1);
      }
      const nrOfTests = index + 1;
      if (isEndless) return { status: 'timeout', reason: 'an endless loop', nrOfTests };
      return { status: 'killed', killedBy: [test.id], failureMessage: String(error), nrOfTests };
    }
    state.activeMutant = undefined;
    return { status: 'survived', nrOfTests: tests.length };
  }

  async dispose(): Promise<void> {
    await runAfterAll();
  }

  async #load(): Promise<void> {
    if (this.#isLoaded) return;
    this.#isLoaded = true;
    registerHooks({
      resolve: (specifier, context, next) => {
        if (specifier === 'node:test' && context.parentURL !== NODE_TEST)
          return { url: NODE_TEST, shortCircuit: true };
        // The links in node_modules lead to the packages of the checkout, not to those of this copy of it.
        const own = specifier.startsWith('@weir/') ? ENTRIES.pathOf(specifier) : undefined;
        return next(own === undefined ? specifier : pathToFileURL(resolve(own)).href, context);
      },
    });
    for (const file of this.#files) {
      beginFile(file);
      await import(pathToFileURL(resolve(file)).href);
    }
    await runBeforeAll();
  }

  /** The error of a test; `undefined` when it passed. One that waits for ever fails too. */
  async #run(test: CollectedTest): Promise<unknown> {
    this.#stray = undefined;
    const waits = new AbortController();
    const limit = LEAST_WAIT + WAIT_FACTOR * (this.#times.get(test.id) ?? LEAST_WAIT);
    const expired = setTimeout(limit, new Error('the test waits for ever'), waits);
    try {
      const error = await Promise.race([runTest(test), expired]);
      if (error) return error;
    } catch (error) {
      return error ?? new Error('thrown without a value');
    } finally {
      waits.abort();
      expired.catch(() => undefined);
    }
    await setImmediate();
    return this.#stray;
  }
}

export const strykerPlugins = [
  { kind: 'TestRunner', name: 'in-process', injectableClass: InProcessRunner },
];
