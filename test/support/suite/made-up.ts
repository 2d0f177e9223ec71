import { hasPassed, runSuite } from '../../../tools/suite/run-suite.ts';
import { SUITES } from '../../../tools/suite/suites.ts';

/**
 * Runs the test files named as a suite that starts processes (`process`), one that does not (`strict`),
 * or one of which all files share a process (`together`). The exit code is 1 when the suite fails.
 */
const [kind, ...files] = process.argv.slice(2);
const suite = {
  width: 2,
  together: kind === 'together' ? files.length : 1,
  testSeconds: 100,
  // Only files that never end need it.
  fileSeconds: Number(process.env['WEIR_FILE_SECONDS'] ?? 60),
  startsProcesses: kind === 'process',
  nodeArgs: kind === 'strict' ? SUITES.conformance.nodeArgs : [],
};
if (!hasPassed(await runSuite(suite, files, process.stdout))) process.exitCode = 1;
