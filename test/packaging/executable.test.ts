import assert from 'node:assert/strict';
import { chmod, copyFile, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { buildExecutable, executableObstacle } from '../../packaging/executable.ts';
import { scratch } from '../support/process/weir.ts';
import { finish, tryOut, type Installed } from './trial.ts';

const skip = executableObstacle() ?? false;

test('the executable runs alone in an empty folder, with an empty PATH', { skip }, async (t) => {
  await using folder = await scratch();
  const at = (name: string): string => join(folder.path, name);
  await buildExecutable(at('built'), at('work'));
  await mkdir(at('alone'));
  await copyFile(at('built'), at('alone/weir'));
  const temporary = at('temporary');
  await mkdir(temporary);
  const installed: Installed = {
    command: at('alone/weir'),
    env: { PATH: '', TMPDIR: temporary },
    folder: at('alone/files'),
  };

  await tryOut(t, installed);

  await t.test('leaves nothing of its native parts in the temporary folder', async () => {
    assert.deepEqual(await readdir(temporary), []);
  });

  await t.test('keeps its native parts where the temporary folder cannot be used', async () => {
    const env = { PATH: '', TMPDIR: at('absent') };
    const { stdout, stderr } = await finish({ ...installed, env }, ['--version', '--verbose']);
    assert.equal(stderr, '');
    assert.match(stdout, /the kernel's/);
  });

  await t.test('takes options of its own only, none of Node', async () => {
    const { code, stderr } = await finish(installed, ['--eval', '1']);
    assert.equal(code, 2);
    assert.match(stderr, /^weir: unknown option '?--eval/i);
  });

  await t.test('runs for a user who may not write to it', async () => {
    await chmod(at('alone/weir'), 0o555);
    assert.equal((await finish(installed, ['--version'])).code, 0);
  });
});
