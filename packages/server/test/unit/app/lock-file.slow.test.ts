import assert from 'node:assert/strict';
import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { lockEdited, LockFile } from '../../../src/app/lock-file.ts';
import { failFileCalls } from '../../../../../test/torture/inside/file-calls.ts';
import { Trigger } from '../../../../../test/torture/inside/trigger.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

/** A file to edit, in a folder in which calls can be made to fail. */
async function edited() {
  const folder = await scratch();
  const file = join(folder.path, 'weir.toml');
  await writeFile(file, 'text');
  const trigger = new Trigger();
  failFileCalls(trigger, folder.path);
  return { folder, file, trigger, lock: join(folder.path, '.weir.toml.lock') };
}

const UNABLE = ['fs.open', 'fs.stat', 'fs.unlink', 'file.stat'] as const;

for (const call of UNABLE) {
  test(`a lock whose release fails in ${call} is not in the way of the next edit`, async () => {
    const { folder, file, trigger } = await edited();
    await using _ = folder;
    const first = await lockEdited(file, {});
    assert.ok(first);
    trigger.arm({ call, fault: 'EIO', nth: 1 });
    await first[Symbol.asyncDispose]();
    trigger.disarm();
    await using second = await lockEdited(file, {});
    assert.ok(second, 'this process holds it no more');
  });
}

test('a lock is removed although its own first name cannot be', async () => {
  const { folder, file, trigger, lock } = await edited();
  await using _ = folder;
  trigger.arm({ call: 'fs.unlink', fault: 'EIO', nth: 1 });
  const held = await lockEdited(file, {});
  assert.equal(trigger.disarm().fired, true);
  assert.match(await readFile(lock, 'utf8'), new RegExp(`^${process.pid} `));
  await held?.[Symbol.asyncDispose]();
  const names = await readdir(folder.path);
  assert.equal(names.includes('.weir.toml.lock'), false);
});

test('the lock of another holder is neither removed nor emptied', async () => {
  const { folder, file, lock } = await edited();
  await using _ = folder;
  const held = await lockEdited(file, {});
  await replaceBy(lock, 'another');
  await held?.[Symbol.asyncDispose]();
  assert.equal(await readFile(lock, 'utf8'), 'another');
});

test('a lock that is held is waited for, and names its holder', async () => {
  const { folder, file, lock } = await edited();
  await using _ = folder;
  await using held = await lockEdited(file, {});
  assert.ok(held);
  await assert.rejects(LockFile.acquire(lock, { what: 'the file' }), {
    message: `process ${process.pid} is changing the file at the moment`,
  });
});

test('many that find the lock of a process that has ended hold it one after the other', async () => {
  for (let round = 0; round < 20; round++) {
    await using folder = await scratch();
    const lock = join(folder.path, 'lock');
    await writeFile(lock, '999999999 1\n');
    let holders = 0;
    const hold = async (): Promise<void> => {
      await using _held = await LockFile.acquire(lock, { what: 'the file', waitMs: 60_000 });
      holders++;
      for (let count = 0; count < 20; count++) {
        assert.equal(holders, 1);
        await turn();
      }
      holders--;
    };
    await Promise.all(Array.from({ length: 8 }, hold));
    assert.deepEqual(await readdir(folder.path), []);
  }
});

test('the lock of a process that was killed while it removed a stale one is stale, too', async () => {
  await using folder = await scratch();
  const lock = join(folder.path, 'lock');
  for (const path of [lock, `${lock}.stale`]) await writeFile(path, '999999999 1\n');
  {
    await using _held = await LockFile.acquire(lock, { what: 'the file' });
    assert.match(await readFile(lock, 'utf8'), new RegExp(`^${process.pid} `));
  }
  assert.deepEqual(await readdir(folder.path), []);
});

test('a process that removes a stale lock counts as its holder', async () => {
  await using folder = await scratch();
  const lock = join(folder.path, 'lock');
  await writeFile(lock, '999999999 1\n');
  await using _removal = await LockFile.acquire(`${lock}.stale`, { what: 'the file' });
  await assert.rejects(LockFile.acquire(lock, { what: 'the file' }), {
    message: `process ${process.pid} is changing the file at the moment`,
  });
});

/** Puts another file in the place of a lock, as a process does that takes it for stale. */
async function replaceBy(path: string, text: string): Promise<void> {
  await writeFile(`${path}.other`, text);
  await rename(`${path}.other`, path);
}
