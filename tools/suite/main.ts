import { parseArgs } from 'node:util';
import { hasPassed, runSuite } from './run-suite.ts';
import { filesOf, SUITES, type Suite } from './suites.ts';
import { keepTimes } from './times.ts';

/**
 * Runs the test suites named, one after the other, and keeps how long their tests took for
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

for (const name of names) {
  const suite: Suite = SUITES[name];
  const files = filesOf(suite);
  const width = Number(values.width ?? suite.width);
  const result = await runSuite({ ...suite, width }, files, process.stdout, interrupted.signal);
  if (!hasPassed(result) || interrupted.signal.aborted) process.exitCode = 1;
  if (interrupted.signal.aborted) break;
  keepTimes(name, result.files);
}
