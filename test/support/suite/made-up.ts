import { hasPassed, runSuites } from '../../../tools/suite/run-suite.ts';
import { SUITES } from '../../../tools/suite/suites.ts';

/**
 * Runs the test files named as a suite that starts processes (`process`), one that does not (`strict`),
 * one of which all files share a process (`together`), or each file as a suite that starts processes (`suites`).
 * The exit code is 1 when a suite fails.
 */
const [kind, ...files] = process.argv.slice(2);
const suite = {
  width: 2,
  together: kind === 'together' ? files.length : 1,
  testSeconds: 100,
  // Only files that never end need it.
  fileSeconds: Number(process.env['WEIR_FILE_SECONDS'] ?? 60),
  startsProcesses: kind === 'process' || kind === 'suites',
  nodeArgs: kind === 'strict' ? SUITES.conformance.nodeArgs : [],
};
const selections =
  kind === 'suites' ? files.map((file) => ({ suite, files: [file] })) : [{ suite, files }];
const results = await runSuites(selections, process.stdout);
if (!results.every(hasPassed)) process.exitCode = 1;
