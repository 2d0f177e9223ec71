import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, mkdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ownFolder } from '../../../../src/platform/process/startup.js';
import { scratch } from '../../../../../../test/support/process/weir.ts';

const skip = process.platform === 'win32' && 'there are no owners and modes';

describe('compiled code', { skip }, () => {
  test('is kept where only its user can write', async () => {
    await using root = await scratch();
    await mkdir(join(root.path, 'node_modules'), { mode: 0o755 });
    const folder = join(root.path, 'node_modules/.cache/weir');
    assert.equal(ownFolder(root.path), folder);
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
    assert.equal(ownFolder(root.path), folder);
  });

  test('is not kept without a folder of packages', async () => {
    await using root = await scratch();
    assert.throws(() => ownFolder(root.path), { code: 'ENOENT' });
  });

  for (const name of ['node_modules', 'node_modules/.cache', 'node_modules/.cache/weir']) {
    test(`is not kept where others can write to ${name}`, async () => {
      await using root = await scratch();
      await mkdir(join(root.path, name), { recursive: true });
      await chmod(join(root.path, name), 0o777);
      assert.equal(ownFolder(root.path), undefined);
    });
  }

  test('is not kept behind a symbolic link', async () => {
    await using root = await scratch();
    await mkdir(join(root.path, 'node_modules/.cache'), { recursive: true });
    await mkdir(join(root.path, 'elsewhere'));
    await symlink(join(root.path, 'elsewhere'), join(root.path, 'node_modules/.cache/weir'));
    assert.equal(ownFolder(root.path), undefined);
  });
});

test('an entry of a package is resolved once, whichever files import it', () => {
  const code = `
    import { registerHooks } from 'node:module';
    const asked = [];
    registerHooks({ resolve: (name, context, next) => (asked.push(name), next(name, context)) });
    const { resolveEntriesOnce } = await import('@weir/io/startup');
    asked.length = 0;
    resolveEntriesOnce();
    await import('@weir/io/sockets');
    console.log(JSON.stringify(asked.filter((name) => name === '@weir/base')));
  `;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
    cwd: import.meta.dirname,
  });
  assert.equal(stderr, '');
  assert.deepEqual(JSON.parse(stdout), ['@weir/base']);
});
