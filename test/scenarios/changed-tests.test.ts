import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Child } from '../support/process/child.ts';
import { scratch } from '../support/process/weir.ts';
import { within } from '../support/wait.ts';

const CHANGED = fileURLToPath(new URL('../../tools/suite/changed.ts', import.meta.url));

const PASSES = "import { test } from 'node:test';\ntest('passes', () => {});\n";

/** A checkout with two unit tests and a scenario that starts the program. */
const CHECKOUT = {
  'packages/one/src/a.ts': 'export const a = 1;\n',
  'packages/one/src/main.ts': "import { a } from './a.ts';\na;\n",
  'docs/guide.md': 'One.\n',
  'test/support/weir.ts':
    "export const MAIN = new URL('../../packages/one/src/main.ts', import.meta.url);\n",
  'test/unit/a.test.ts': `import { a } from '../../packages/one/src/a.ts';\na;\n${PASSES}`,
  'test/unit/b.test.ts': PASSES,
  'test/scenarios/run.test.ts': `import { MAIN } from '../support/weir.ts';\nMAIN;\n${PASSES}`,
};

async function put(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}

function git(cwd: string, ...args: readonly string[]): void {
  const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com'];
  const { status, stderr } = spawnSync('git', [...author, ...args], { cwd, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
}

/** A checkout with a branch `main` and, on another one, a commit that has changed `files`. */
async function checkout(
  files: Readonly<Record<string, string>>,
): Promise<ReturnType<typeof scratch>> {
  const folder = await scratch();
  const { path } = folder;
  await put(path, CHECKOUT);
  git(path, 'init', '--quiet', '--initial-branch', 'main');
  git(path, 'add', '.');
  git(path, 'commit', '--quiet', '--message', 'one');
  git(path, 'checkout', '--quiet', '-b', 'work');
  await put(path, files);
  git(path, 'add', '.');
  git(path, 'commit', '--quiet', '--message', 'two');
  return folder;
}

async function changed(cwd: string, ...args: readonly string[]): Promise<Child> {
  await using child = new Child(process.execPath, [CHANGED, ...args], {
    cwd,
    env: { NODE_TEST_CONTEXT: undefined },
  });
  await within(child.exited, 'the end of the tests', 100_000);
  return child;
}

test('what a branch has changed runs the tests that import it, and names those that start the program', async () => {
  await using folder = await checkout({ 'packages/one/src/a.ts': 'export const a = 2;\n' });
  const { stdout, ended } = await changed(folder.path);
  assert.match(stdout, /^1 files have changed since [0-9a-f]{10}\n {2}1 test files of unit\n/);
  assert.match(stdout, /^ {2}not run, `--all` does: 1 of scenarios$/m);
  assert.match(stdout, /^ℹ pass 1$/m);
  assert.equal(ended?.code, 0);
  // Nothing of it is left to commit.
  const work = await changed(folder.path, '--work-tree');
  assert.match(work.stdout, /^0 files have changed since HEAD\n$/);
  assert.equal(work.ended?.code, 0);
});

test('what no commit has runs its tests as well, and the command fails when one does', async () => {
  await using folder = await checkout({ 'docs/guide.md': 'Two.\n' });
  await put(folder.path, {
    'test/unit/c.test.ts': PASSES.replace('{}', '{ throw new Error(); }'),
    'test/support/weir.ts': `${CHECKOUT['test/support/weir.ts']}export {};\n`,
  });
  const { stdout, ended } = await changed(folder.path, '--base', 'main', '--list');
  assert.equal(
    stdout.replace(/since \S+/, 'since then'),
    [
      '3 files have changed since then',
      '  not imported or named by any test or tool: docs/guide.md',
      '  1 test files of scenarios',
      '  1 test files of unit',
      'test/scenarios/run.test.ts',
      'test/unit/c.test.ts',
      '',
    ].join('\n'),
  );
  assert.equal(ended?.code, 0);
  assert.equal((await changed(folder.path, '--work-tree')).ended?.code, 1);
});
