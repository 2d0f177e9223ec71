import assert from 'node:assert/strict';
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { writeFiles } from '../../../src/cli/write-files.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

describe('the files of a command', () => {
  const filesIn = (folder: string) => [
    { path: join(folder, 'public'), text: 'one', secret: false },
    { path: join(folder, 'secret'), text: 'two', secret: true },
  ];
  const modeOf = (folder: string, name: string): number =>
    statSync(join(folder, name)).mode & 0o777;

  test('are created, secret ones for their owner alone', async () => {
    await using folder = await scratch();
    await writeFiles(filesIn(folder.path), false);
    assert.equal(modeOf(folder.path, 'public') & 0o600, 0o600);
    assert.equal(modeOf(folder.path, 'secret'), 0o600);
  });

  test('are all left alone when one exists', async () => {
    await using folder = await scratch();
    writeFileSync(join(folder.path, 'secret'), 'mine');
    await assert.rejects(writeFiles(filesIn(folder.path), false), {
      message: `${join(folder.path, 'secret')} exists; --force replaces it`,
    });
    assert.deepEqual(readdirSync(folder.path), ['secret']);
  });

  test('are replaced by force, and a secret one is not readable for others any more', async () => {
    await using folder = await scratch();
    const path = join(folder.path, 'secret');
    writeFileSync(path, 'mine');
    chmodSync(path, 0o644);
    const before = statSync(path).ino;
    await writeFiles(filesIn(folder.path), true);
    assert.equal(readFileSync(path, 'utf8'), 'two');
    assert.equal(modeOf(folder.path, 'secret'), 0o600);
    assert.notEqual(statSync(path).ino, before);
  });

  test('are replaced by force, and stay readable for the group alone that they were given to', async () => {
    await using folder = await scratch();
    const path = join(folder.path, 'secret');
    writeFileSync(path, 'mine');
    chmodSync(path, 0o640);
    await writeFiles(filesIn(folder.path), true);
    assert.equal(readFileSync(path, 'utf8'), 'two');
    assert.equal(modeOf(folder.path, 'secret'), 0o640);
  });

  test('that were created are removed when another cannot be written', async () => {
    await using folder = await scratch();
    const files = filesIn(folder.path);
    const beyond = { path: join(folder.path, 'absent', 'file'), text: '', secret: false };
    await assert.rejects(writeFiles([...files, beyond], false), /cannot write .*absent/);
    assert.deepEqual(readdirSync(folder.path), []);
  });

  test('that were replaced have their contents again when another cannot be written', async () => {
    await using folder = await scratch();
    const [file] = filesIn(folder.path);
    assert.ok(file);
    writeFileSync(file.path, 'mine');
    const beyond = { path: join(folder.path, 'absent', 'file'), text: '', secret: false };
    await assert.rejects(writeFiles([file, beyond], true), /cannot write .*absent/);
    assert.equal(readFileSync(file.path, 'utf8'), 'mine');
    assert.deepEqual(readdirSync(folder.path), ['public']);
  });

  test('may be devices, which keep their mode', async () => {
    const before = statSync('/dev/null').mode;
    await writeFiles([{ path: '/dev/null', text: 'gone', secret: true }], false);
    assert.equal(statSync('/dev/null').mode, before);
  });
});
