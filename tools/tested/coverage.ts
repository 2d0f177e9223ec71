import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { percentReached, readBranches, type FileBranches } from './branches.ts';
import { chosenRooms, type Room } from './rooms.ts';

const ROOT = join(import.meta.dirname, '../..');

/**
 * Runs the tests of each room with V8's coverage and prints a table; the exit code is 1 when a test
 * fails or a room is below its floor. Names of rooms limit the run to those; `--missed` lists the
 * lines of branches that were not reached.
 */
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { missed: { type: 'boolean', default: false } },
});

let isBelow = false;
console.log('room            files  branches  reached      %  floor');
for (const [name, room] of chosenRooms(positionals)) {
  const files = await measure(name, room);
  const percent = percentReached(files);
  const found = files.reduce((sum, file) => sum + file.found, 0);
  const reached = files.reduce((sum, file) => sum + file.reached, 0);
  const isRoomBelow = percent < room.branches;
  isBelow ||= isRoomBelow;
  console.log(
    [
      name.padEnd(15),
      String(files.length).padStart(5),
      String(found).padStart(9),
      String(reached).padStart(8),
      percent.toFixed(1).padStart(6),
      String(room.branches).padStart(6),
      isRoomBelow ? '  BELOW' : '',
    ]
      .join(' ')
      .trimEnd(),
  );
  if (values.missed) showMissed(files);
}
if (isBelow) process.exitCode = 1;

function showMissed(files: readonly FileBranches[]): void {
  for (const { file, missedLines } of files) {
    if (missedLines.length > 0) console.log(`  ${file}: ${missedLines.join(' ')}`);
  }
}

/** The branches of the files of a room that its tests reach. */
async function measure(name: string, room: Room): Promise<FileBranches[]> {
  const tests = await filesOf(room.tests);
  const child = spawn(
    process.execPath,
    [
      '--env-file=test/checked.env',
      '--test',
      '--test-concurrency=1',
      '--test-timeout=300000',
      '--experimental-test-coverage',
      ...room.files.map((pattern) => `--test-coverage-include=${pattern}`),
      '--test-reporter=lcov',
      '--test-reporter-destination=stdout',
      '--test-reporter=dot',
      '--test-reporter-destination=stderr',
      ...tests,
    ],
    { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [report, log, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code !== 0) throw new Error(`the tests of ${name} failed:\n${log}`);
  return withUnloaded(readBranches(report), await filesOf(room.files));
}

/**
 * A file that no test loads is not in the report: it counts as one branch, not reached, unless it has
 * only types.
 */
function withUnloaded(measured: FileBranches[], files: readonly string[]): FileBranches[] {
  const known = new Set(measured.map(({ file }) => file));
  const unloaded = files.filter((file) => !known.has(file) && hasCode(file));
  return [
    ...measured,
    ...unloaded.map((file) => ({ file, found: 1, reached: 0, missedLines: [1] })),
  ];
}

/** Whether a file declares anything but types. */
function hasCode(file: string): boolean {
  return /^(export )?(abstract |async )?(const|let|class|function)\b/m.test(
    readFileSync(join(ROOT, file), 'utf8'),
  );
}

/** The files of globs; a glob without a file is an error of the table. */
async function filesOf(patterns: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const pattern of patterns) {
    const files = await Array.fromAsync(glob(pattern, { cwd: ROOT }));
    if (files.length === 0) throw new Error(`no file matches ${pattern}`);
    found.push(...files);
  }
  return [...new Set(found)].sort();
}
