import assert from 'node:assert/strict';
import { mkdir, readFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { FileWatcher } from '../../../src/app/file-watcher.ts';
import { silentLogger } from '../../../src/log/output.ts';
import { within } from '../../support/wait.ts';
import { scratch } from '../../support/weir.ts';

/** A watcher of files in a folder of its own, and the next time that it tells of a change. */
async function subject(names: (at: (name: string) => string) => readonly string[]) {
  const folder = await scratch();
  const at = (name: string): string => join(folder.path, name);
  let heard = Promise.withResolvers<void>();
  let watcher: FileWatcher | undefined;
  let told = 0;
  const paths = names(at);
  return {
    at,
    /** Begins; the files are as the test has made them. */
    watch: () => {
      watcher = new FileWatcher(
        () => paths,
        () => {
          told++;
          heard.resolve();
        },
        silentLogger,
      );
    },
    refresh: () => watcher?.refresh(),
    told: () => told,
    /** Does something and waits until the watcher tells of it. */
    hearsOf: async (work: () => Promise<void>): Promise<void> => {
      heard = Promise.withResolvers();
      await work();
      await within(heard.promise, 'a change to be told');
    },
    [Symbol.asyncDispose]: async () => {
      watcher?.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test('a file that is written in place is a change', async () => {
  await using it = await subject((at) => [at('a')]);
  await writeFile(it.at('a'), '1');
  it.watch();
  await it.hearsOf(() => writeFile(it.at('a'), '2'));
  await it.hearsOf(() => writeFile(it.at('a'), '3'));
});

test('a file that another is renamed over is a change, and so is the next time', async () => {
  await using it = await subject((at) => [at('a')]);
  await writeFile(it.at('a'), '1');
  it.watch();
  for (const text of ['2', '3']) {
    await it.hearsOf(async () => {
      await writeFile(it.at('.a.swp'), text);
      await rename(it.at('.a.swp'), it.at('a'));
    });
  }
});

test('a file that is removed and made anew is a change each time', async () => {
  await using it = await subject((at) => [at('a')]);
  await writeFile(it.at('a'), '1');
  it.watch();
  await it.hearsOf(() => rm(it.at('a')));
  it.refresh();
  await it.hearsOf(() => writeFile(it.at('a'), '2'));
});

test('a file that is not there yet is a change when it comes', async () => {
  await using it = await subject((at) => [at('later')]);
  it.watch();
  await it.hearsOf(() => writeFile(it.at('later'), '1'));
});

test('what a symbolic link names is watched, and so is every link on the way', async () => {
  await using it = await subject((at) => [at('link')]);
  for (const name of ['one', 'two', 'links']) await mkdir(it.at(name));
  await writeFile(it.at('one/file'), '1');
  await writeFile(it.at('two/file'), '2');
  await symlink('links/middle', it.at('link'));
  await symlink('../current/file', it.at('links/middle'));
  await symlink('one', it.at('current'));
  it.watch();
  await it.hearsOf(() => writeFile(it.at('one/file'), '1.1'));
  // A folder that is switched in one step, as deployments do it.
  await it.hearsOf(async () => {
    await symlink('two', it.at('next'));
    await rename(it.at('next'), it.at('current'));
  });
  assert.equal(await readFile(it.at('link'), 'utf8'), '2');
  it.refresh();
  await it.hearsOf(() => writeFile(it.at('two/file'), '2.1'));
  await it.hearsOf(async () => {
    await unlink(it.at('links/middle'));
    await symlink('../one/file', it.at('links/middle'));
  });
});

test('links that go round in a circle are watched without end to none', async () => {
  await using it = await subject((at) => [at('a')]);
  await symlink('b', it.at('a'));
  await symlink('a', it.at('b'));
  it.watch();
  await it.hearsOf(async () => {
    await unlink(it.at('b'));
    await writeFile(it.at('b'), '1');
  });
});

test('many writes at once are told together', async () => {
  await using it = await subject((at) => [at('a')]);
  it.watch();
  await it.hearsOf(async () => {
    for (let i = 0; i < 10; i++) await writeFile(it.at('a'), String(i));
  });
  assert.ok(it.told() < 10, `told ${it.told()} times`);
});

test('a folder that is not there is a warning, and nothing else', async () => {
  const warnings: string[] = [];
  const log = { ...silentLogger, warn: (text: string) => void warnings.push(text) };
  const watcher = new FileWatcher(
    () => ['/nowhere/at/all'],
    () => undefined,
    log,
  );
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /^cannot watch \/nowhere\/at: /);
  watcher.close();
});
