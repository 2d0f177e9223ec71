import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { ownBuild } from '../../../../src/platform/process/own-build.ts';
import { scratch } from '../../../../../../test/support/process/weir.ts';

const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const BUILD = { commit: '0123456789ab', date: null };

test('the commit of a checkout is found wherever git keeps it', async () => {
  await using folder = await scratch();
  const write = async (path: string, text: string): Promise<void> => {
    const file = join(folder.path, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  };
  assert.equal(ownBuild(folder.path), undefined, 'no repository');
  await write('.git/HEAD', 'ref: refs/heads/main\n');
  assert.equal(ownBuild(folder.path), undefined, 'no commit');
  await write('.git/refs/heads/main', `${COMMIT}\n`);
  assert.deepEqual(ownBuild(folder.path), BUILD, 'a file for the branch');
  await rm(join(folder.path, '.git/refs/heads/main'));
  await write(
    '.git/packed-refs',
    `# pack-refs\n${'f'.repeat(40)} refs/heads/other\n${COMMIT} refs/heads/main\n`,
  );
  assert.deepEqual(ownBuild(folder.path), BUILD, 'packed');
  await write('.git/HEAD', `${COMMIT}\n`);
  assert.deepEqual(ownBuild(folder.path), BUILD, 'no branch');
  await write('.git/HEAD', 'ref: refs/heads/main\n');
  await write('.git/worktrees/second/HEAD', 'ref: refs/heads/second\n');
  await write('.git/worktrees/second/commondir', '../..\n');
  await write('.git/refs/heads/second', `${'e'.repeat(40)}\n`);
  await write('second/.git', `gitdir: ${join(folder.path, '.git/worktrees/second')}\n`);
  assert.equal(ownBuild(join(folder.path, 'second'))?.commit, 'e'.repeat(12), 'a worktree');
  await write('.git/HEAD', 'ref: refs/heads/main');
  await write('.git/packed-refs', `not a commit refs/heads/main\n`);
  assert.equal(ownBuild(folder.path), undefined, 'a broken one');
});
