import { parseArgs } from 'node:util';
import { hasPassed, runSuites } from './run-suite.ts';
import { filesOf, SUITES, type Suite } from './suites.ts';
import { keepTimes } from './times.ts';

/**
 * Runs the test suites named, in their order, and keeps how long their tests took for
 * `npm run test:slowest`. The exit code is 1 when a test fails, or too many pass at their second
 * attempt only.
 */
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { width: { type: 'string' } },
});
const isSuite = (name: string): name is keyof typeof SUITES => Object.hasOwn(SUITES, name);
const names = positionals.filter(isSuite);
if (names.length === 0 || names.length < positionals.length) {
  console.error(
    `usage: node tools/suite/main.ts SUITE… [--width FILES]; suites: ${Object.keys(SUITES).join(', ')}`,
  );
  process.exit(2);
}
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => interrupted.abort());

const selections = names.map((name) => {
  const suite: Suite = SUITES[name];
  return {
    suite: { ...suite, width: Number(values.width ?? suite.width) },
    files: filesOf(suite),
  };
});
const results = await runSuites(selections, process.stdout, interrupted.signal);
if (interrupted.signal.aborted || !results.every(hasPassed)) process.exitCode = 1;
if (!interrupted.signal.aborted)
  for (const [at, name] of names.entries()) keepTimes(name, results[at]?.files ?? []);
