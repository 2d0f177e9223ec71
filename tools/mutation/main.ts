import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { glob, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chosenRooms, type Room } from '../tested/rooms.ts';
import { countMutants, score, survivors, type MutationReport } from './report.ts';

const ROOT = join(import.meta.dirname, '../..');
const MODULES = join(import.meta.dirname, 'node_modules/@stryker-mutator');

/**
 * Runs Stryker over the rooms named and prints the score of each and the mutants that survived.
 *
 * Stryker writes all mutants of a room into one copy of the checkout (Node strips the types of what
 * Babel wrote) and picks one by a global variable; `in-process-runner.ts` runs the tests that reach
 * it. `*.slow.test.ts` run only with `--slow`, mutants of module scope with `--static`, and `--files`
 * and `--tests` limit a room to some of its files and tests.
 */
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    files: { type: 'string', multiple: true },
    tests: { type: 'string', multiple: true },
    slow: { type: 'boolean', default: false },
    static: { type: 'boolean', default: false },
    concurrency: { type: 'string', default: '1' },
  },
});

if (positionals.length === 0) {
  console.error(
    'usage: npm run mutation -- ROOM… [--files GLOB] [--tests GLOB] [--slow] [--static] [--concurrency N]',
  );
  process.exit(2);
}
if (!existsSync(join(MODULES, 'core')))
  await run('npm', ['ci', '--no-audit', '--no-fund'], import.meta.dirname);

for (const [name, room] of chosenRooms(positionals)) {
  const folder = await mkdtemp(join(tmpdir(), 'weir-mutation-'));
  try {
    show(name, await mutate(folder, room));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function show(name: string, report: MutationReport): void {
  const counts = countMutants(report);
  const { killed, timedOut, survived, notCovered } = counts;
  for (const line of survivors(report)) console.log(`  ${line}`);
  console.log(
    `${name}: ${score(counts).toFixed(1)} % of ${killed + timedOut + survived + notCovered} mutants; ` +
      `${killed} killed, ${timedOut} timed out, ${survived} survived, ${notCovered} not covered`,
  );
}

async function mutate(folder: string, room: Room): Promise<MutationReport> {
  const reportFile = join(folder, 'report.json');
  const configFile = join(folder, 'stryker.json');
  const tests = await Array.fromAsync(glob(values.tests ?? room.tests, { cwd: ROOT }));
  await writeFile(
    configFile,
    JSON.stringify({
      plugins: ['in-process-runner.ts', 'ignore-messages.ts'].map((plugin) =>
        join(import.meta.dirname, plugin),
      ),
      ignorers: ['messages'],
      testRunner: 'in-process',
      inProcess: {
        testFiles: tests.filter((file) => values.slow || !file.includes('.slow.')).sort(),
      },
      warnings: { unknownOptions: false },
      // A mutant of what runs once, when a module is loaded, needs a process of its own.
      ignoreStatic: !values.static,
      mutate: values.files ?? room.files,
      coverageAnalysis: 'perTest',
      concurrency: Number(values.concurrency),
      // Most endless loops are found by their hits; one without any after this and twice the time of the
      // tests. Less would count the mutants of a busy machine as timed out, which means killed.
      timeoutMS: 30_000,
      timeoutFactor: 2,
      // Node strips types, so what a mutant does to them is of no concern; the JavaScript API that
      // Stryker reads a tsconfig.json with is not in TypeScript 7.
      disableTypeChecks: false,
      tsconfigFile: 'absent.json',
      tempDirName: join(folder, 'sandboxes'),
      ignorePatterns: ['/.venv', '/bench', '/packaging', '/dist', '/out', '/tools/mutation'],
      reporters: ['json'],
      jsonReporter: { fileName: reportFile },
    }),
  );
  await run(process.execPath, [join(MODULES, 'core/bin/stryker.js'), 'run', configFile], ROOT);
  return JSON.parse(await readFile(reportFile, 'utf8')) as MutationReport;
}

async function run(command: string, args: readonly string[], cwd: string): Promise<void> {
  const env = { ...process.env, WEIR_IO_CHECK: '1' }; // as in test/checked.env
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}`);
}
