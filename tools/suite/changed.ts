import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { isSource, reach } from './reach.ts';
import { hasPassed, runSuites, type Selection } from './run-suite.ts';
import { SUITES, suiteOf, type SuiteName } from './suites.ts';

/**
 * Runs the tests that a change concerns, by imports and by paths that files name. It is what the branch and
 * the work tree have since they left `origin/main`, `main` without a remote, or `--base`; with `--work-tree` since the last commit.
 *
 * Tests that start the program concern any change of it: they run when a file outside of the source reaches
 * them, and all with `--all`. The exit code is 1 when a test fails.
 */
const { values } = parseArgs({
  options: {
    base: { type: 'string' },
    'work-tree': { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
});

const git = (...args: readonly string[]): readonly string[] =>
  execFileSync('git', args, { encoding: 'utf8', maxBuffer: 1 << 26 })
    .split('\n')
    .filter((line) => line !== '');

/** A clone has `origin/main`; a checkout without a remote may have its branch alone. */
const branch =
  values.base ??
  git('branch', '--all', '--list', 'origin/main', '--format=origin/main')[0] ??
  'main';
const [base = 'HEAD'] = values['work-tree'] ? ['HEAD'] : git('merge-base', 'HEAD', branch);
const changed = [
  ...git('diff', '--name-only', '--no-renames', base),
  ...git('ls-files', '--others', '--exclude-standard'),
];
const sources = git(
  'ls-files',
  '--cached',
  '--others',
  '--exclude-standard',
  '*.ts',
  'packages/*/src/*.js',
  'packages/*/package.json',
)
  .filter(existsSync)
  .map((path) => ({ path, text: readFileSync(path, 'utf8') }));

const { near, far, alone } = reach(changed, sources);
const others = reach(
  changed.filter((path) => !isSource(path)),
  sources,
);
const isTest = (path: string): boolean => path.endsWith('.test.ts') && existsSync(path);
const tests = [...near, ...far].filter(isTest).sort();

/** Suites that take minutes, or need other programs. */
const LATER = new Set<SuiteName | undefined>([
  'interop',
  'browser',
  'packaging',
  'arm64',
  undefined,
]);

const runsNow = (path: string): boolean => {
  const name = suiteOf(path);
  if (values.all) return name !== undefined;
  if (LATER.has(name)) return changed.includes(path) && name !== undefined;
  return name === 'scenarios' ? others.near.has(path) : near.has(path);
};

console.log(`${changed.length} files have changed since ${base.slice(0, 10)}`);
for (const path of alone) console.log(`  not imported or named by any test or tool: ${path}`);
const now = Map.groupBy(tests.filter(runsNow), suiteOf);
for (const [name, files] of now) console.log(`  ${files.length} test files of ${name}`);
const later = Map.groupBy(
  tests.filter((path) => !runsNow(path)),
  suiteOf,
);
for (const [name, files] of later)
  console.log(
    name === undefined
      ? `  not run, in no suite: ${files.join(' ')}`
      : `  not run, \`--all\` does: ${files.length} of ${name}`,
  );
if (values.list) for (const file of [...now.values()].flat()) console.log(file);
else {
  const selections = Array.from(now, ([name = 'unit', files]): Selection => ({
    suite: SUITES[name],
    files,
  }));
  const results = await runSuites(selections, process.stdout);
  if (!results.every(hasPassed)) process.exitCode = 1;
}
