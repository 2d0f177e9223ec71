import assert from 'node:assert/strict';
import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { lockEdited, LockFile } from '../../../src/app/lock-file.ts';
import { failFileCalls } from '../../torture/inside/file-calls.ts';
import { Trigger } from '../../torture/inside/trigger.ts';
import { scratch } from '../../support/process/weir.ts';

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

/** Puts another file in the place of a lock, as a process does that takes it for stale. */
async function replaceBy(path: string, text: string): Promise<void> {
  await writeFile(`${path}.other`, text);
  await rename(`${path}.other`, path);
}
