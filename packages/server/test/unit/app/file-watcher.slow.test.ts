import assert from 'node:assert/strict';
import { mkdir, readFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { FileWatcher, type WatchFolder } from '../../../src/app/file-watcher.ts';
import { silentLogger } from '@weir/base/log';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import { within } from '../../../../../test/support/wait.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

/** A watcher of files in a folder of its own, and its next report of a change. */
async function subject(names: (at: (name: string) => string) => readonly string[]) {
  const folder = await scratch();
  const at = (name: string): string => join(folder.path, name);
  let heard = Promise.withResolvers<void>();
  let watcher: FileWatcher | undefined;
  let reports = 0;
  const paths = names(at);
  return {
    at,
    /** Begins; the files are as the test has made them. */
    watch: () => {
      watcher = new FileWatcher(
        () => paths,
        () => {
          reports++;
          heard.resolve();
        },
        silentLogger,
      );
    },
    refresh: () => watcher?.refresh(),
    reports: () => reports,
    /** Does something and waits until the watcher reports it. */
    hearsOf: async (work: () => Promise<void>): Promise<void> => {
      heard = Promise.withResolvers();
      await work();
      await within(heard.promise, 'a change to be reported');
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

test('many writes at once are reported together', async () => {
  await using it = await subject((at) => [at('a')]);
  it.watch();
  await it.hearsOf(async () => {
    for (let i = 0; i < 10; i++) await writeFile(it.at('a'), String(i));
  });
  assert.ok(it.reports() < 10, `reported ${it.reports()} times`);
});

test('a folder that is replaced is still watched, without a refresh', async () => {
  await using it = await subject((at) => [at('live/sub/a')]);
  await mkdir(it.at('live/sub'), { recursive: true });
  await writeFile(it.at('live/sub/a'), '1');
  it.watch();
  for (const text of ['2', '3']) {
    await mkdir(it.at('next/sub'), { recursive: true });
    await writeFile(it.at('next/sub/a'), text);
    await it.hearsOf(async () => {
      await rename(it.at('live'), it.at(`old-${text}`));
      await rename(it.at('next'), it.at('live'));
    });
    await it.hearsOf(() => writeFile(it.at('live/sub/a'), `${text}.1`));
  }
});

test('a folder that is removed and created again is still watched', async () => {
  await using it = await subject((at) => [at('one/two/a')]);
  it.watch();
  for (let round = 0; round < 3; round++) {
    // Folders may get the same inode numbers again.
    await it.hearsOf(() => mkdir(it.at('one')));
    await it.hearsOf(() => mkdir(it.at('one/two')));
    await it.hearsOf(() => writeFile(it.at('one/two/a'), '1'));
    await it.hearsOf(() => writeFile(it.at('one/two/a'), '2'));
    await it.hearsOf(() => rm(it.at('one'), { recursive: true }));
  }
});

test('a volume as Kubernetes replaces it is a change each time', async () => {
  await using it = await subject((at) => [at('etc/weir.toml'), at('etc/cert.pem')]);
  const publish = async (version: string): Promise<void> => {
    await mkdir(it.at(`etc/..${version}`));
    await writeFile(it.at(`etc/..${version}/weir.toml`), version);
    await symlink(`..${version}`, it.at('etc/..data_tmp'));
    await rename(it.at('etc/..data_tmp'), it.at('etc/..data'));
  };
  await mkdir(it.at('etc'));
  await publish('1');
  for (const name of ['weir.toml', 'cert.pem']) {
    await symlink(`..data/${name}`, it.at(`etc/${name}`));
  }
  it.watch();
  for (const version of ['2', '3']) {
    await it.hearsOf(() => publish(version));
    await rm(it.at(`etc/..${Number(version) - 1}`), { recursive: true });
    assert.equal(await readFile(it.at('etc/weir.toml'), 'utf8'), version);
    await it.hearsOf(() => writeFile(it.at(`etc/..${version}/weir.toml`), 'patched'));
  }
});

test('a link in the middle of a path is followed as the system follows it', async () => {
  await using it = await subject((at) => [`${at('way')}/../file`]);
  await mkdir(it.at('far/folder'), { recursive: true });
  await symlink('far/folder', it.at('way'));
  it.watch();
  await it.hearsOf(() => writeFile(it.at('far/file'), '1'));
  await mkdir(it.at('other/folder'), { recursive: true });
  await it.hearsOf(async () => {
    await symlink('other/folder', it.at('next'));
    await rename(it.at('next'), it.at('way'));
  });
  await it.hearsOf(() => writeFile(it.at('other/file'), '2'));
});

/** Watches no folder while `broken`, as when the limits of the system are reached. */
function breakable() {
  const state = { broken: true, watched: 0 };
  const watchFolder: WatchFolder = () => {
    if (state.broken) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    state.watched++;
    return { close: () => void state.watched-- };
  };
  return { state, watchFolder };
}

test('where folders cannot be watched the files are compared, with one warning for each', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'a');
  await writeFile(file, '1');
  const clock = new ManualClock();
  const { state, watchFolder } = breakable();
  const warnings: string[] = [];
  const log = { ...silentLogger, warn: (text: string) => void warnings.push(text) };
  let changes = 0;
  const count = (): void => void changes++;
  const watcher = new FileWatcher(() => [file], count, log, { clock, watchFolder });
  const expected = warnings.length;
  assert.ok(expected > 0);
  assert.match(
    warnings[0] ?? '',
    /^cannot watch \/: no space left; comparing the files every 5 s instead$/,
  );
  clock.advance(10_000);
  assert.equal(changes, 0);
  await writeFile(file, 'longer');
  clock.advance(5_000);
  assert.equal(changes, 1);
  await rm(file);
  clock.advance(5_000);
  assert.equal(changes, 2);
  assert.equal(warnings.length, expected);
  // Once watching works again, there is nothing to compare any more.
  state.broken = false;
  clock.advance(5_000);
  assert.deepEqual([changes, clock.timers], [2, 0]);
  assert.equal(state.watched, expected);
  watcher.close();
  assert.equal(state.watched, 0);
});

test('a watch that breaks later is replaced by comparing', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'a');
  const clock = new ManualClock();
  const failures: ((error: Error) => void)[] = [];
  const watchFolder: WatchFolder = (_folder, _onEvent, onError) => {
    failures.push(onError);
    return { close: () => undefined };
  };
  let changes = 0;
  const count = (): void => void changes++;
  const watcher = new FileWatcher(() => [file], count, silentLogger, { clock, watchFolder });
  assert.equal(clock.timers, 0);
  failures.at(-1)?.(new Error('lost'));
  await writeFile(file, '1');
  clock.advance(5_000);
  assert.deepEqual([changes, clock.timers], [1, 0]);
  watcher.close();
});

test('a refresh reports whether there is more to watch', async () => {
  await using folder = await scratch();
  let paths = ['a'];
  const watcher = new FileWatcher(
    () => paths.map((name) => join(folder.path, name)),
    () => undefined,
    silentLogger,
  );
  assert.equal(watcher.refresh(), false);
  paths = ['a', 'b'];
  assert.equal(watcher.refresh(), true);
  paths = ['b'];
  assert.equal(watcher.refresh(), false);
  watcher.close();
});

test('a folder that is not there is watched for from the one that is', async () => {
  const warnings: string[] = [];
  const log = { ...silentLogger, warn: (text: string) => void warnings.push(text) };
  const watcher = new FileWatcher(
    () => ['/nowhere/at/all'],
    () => undefined,
    log,
  );
  assert.deepEqual(warnings, []);
  watcher.close();
});
