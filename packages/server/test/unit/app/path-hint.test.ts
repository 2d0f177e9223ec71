import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathHint } from '../../../src/app/loading/file-digests.ts';

const failure = (code: string): Error => Object.assign(new Error(code), { code });

describe('the hint for a file that cannot be read', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'weir-paths-'));
    await writeFile(join(folder, 'file'), '');
  });
  after(() => rm(folder, { recursive: true }));

  test('names the first folder that is missing', async () => {
    const path = join(folder, 'one', 'two', 'a.pem');
    assert.equal(
      await pathHint(path, failure('ENOENT')),
      `there is no folder ${join(folder, 'one')}`,
    );
  });

  test('is left out where only the file is missing, by an absolute path', async () => {
    assert.equal(await pathHint(join(folder, 'a.pem'), failure('ENOENT')), undefined);
  });

  test('says where a relative path starts', async () => {
    const hint = await pathHint('no-such-file.pem', failure('ENOENT'));
    assert.equal(hint, `no-such-file.pem is relative to the working directory, ${process.cwd()}`);
  });

  test('tells a file without permission from a folder without', async () => {
    const path = join(folder, 'file');
    assert.match(
      (await pathHint(path, failure('EACCES'))) ?? '',
      new RegExp(`may not read ${path}$`),
    );
    const below = join(folder, 'file', 'a.pem');
    assert.match(
      (await pathHint(below, failure('EACCES'))) ?? '',
      /may not enter the folder .*file$/,
    );
  });

  test('is left out for other errors', async () => {
    assert.equal(await pathHint('x', failure('EISDIR')), undefined);
  });
});
