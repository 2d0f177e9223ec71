import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { moduleAround, Report } from './run-suite.ts';
import { runFiles } from './run-file.ts';
import { SUITES, suiteOf, type Suite } from './suites.ts';

/**
 * Runs test files again and again beside busy loops, one for each core unless `--load` has another
 * number, and sums up: failures that a test shows only at times. The exit code is 1 when a run fails.
 */
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', short: 'n', default: '20' },
    load: { type: 'string', default: String(availableParallelism()) },
  },
});
const runs = Number(values.runs);
const load = Number(values.load);
if (positionals.length === 0 || !(runs >= 1) || !(load >= 0)) {
  console.error('usage: npm run test:repeat -- FILE… [-n RUNS] [--load BUSY-LOOPS]');
  process.exit(2);
}

/** Values that no run had before show more. */
const seed = process.env['WEIR_TEST_SEED'] ?? 'random';

/** Threads of this process: none outlives it. */
const BUSY = 'for (;;);';
const loops = Array.from({ length: load }, () => new Worker(BUSY, { eval: true }));
await Promise.all(loops.map((loop) => once(loop, 'online')));
const files = positionals.map((file) => relative('.', file));
const arounds = await Promise.all(
  [...new Set(files.map((file) => howToRun(file).around))].map(moduleAround),
);
for (const { globalSetup } of arounds) await globalSetup?.();
for (const file of files) await repeat(file);
for (const { globalTeardown } of arounds) await globalTeardown?.();
await Promise.all(loops.map((loop) => loop.terminate()));

async function repeat(file: string): Promise<void> {
  const how = howToRun(file);
  const suite = { ...how, env: { ...how.env, WEIR_TEST_SEED: seed } };
  const seconds: number[] = [];
  const failed = new Map<string, number>();
  let passed = 0;
  for (let run = 1; run <= runs; run++) {
    const { ok, ms, failures, events } = await runFiles([file], suite);
    seconds.push(ms / 1000);
    console.log(`run ${run}: ${ok ? 'passed' : 'FAILED'} in ${(ms / 1000).toFixed(1)} s`);
    if (ok) passed++;
    else {
      const report = new Report(process.stdout);
      report.add(events);
      await report.end();
      process.exitCode = 1;
    }
    for (const name of failures) failed.set(name, (failed.get(name) ?? 0) + 1);
  }
  seconds.sort((a, b) => a - b);
  const [least, middle, most] = [0, seconds.length >> 1, seconds.length - 1].map((at) =>
    (seconds[at] ?? 0).toFixed(1),
  );
  console.log(
    `${file}, ${runs} runs beside ${load} busy loops: ${passed} passed, ${runs - passed} failed; ` +
      `from ${least} s over ${middle} s to ${most} s`,
  );
  for (const [name, count] of failed) console.log(`  failed ${count} times: ${name}`);
}

/** How a file is run: one that is in no suite as a scenario. */
function howToRun(file: string): Suite {
  return SUITES[suiteOf(file) ?? 'scenarios'];
}
