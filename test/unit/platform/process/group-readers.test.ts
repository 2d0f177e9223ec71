import assert from 'node:assert/strict';
import { chmod, mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { mayReadByGroup } from '../../../../src/platform/process/group-readers.ts';
import { scratch } from '../../../support/process/weir.ts';

/** Users that no system has: one of the group of new files by `passwd`, one by `group`, and one of neither. */
const [PRIMARY, MEMBER, OTHER] = [4_000_001, 4_000_002, 4_000_003];

async function files() {
  const folder = await scratch();
  const secret = join(folder.path, 'weir.toml');
  await writeFile(secret, '');
  await chmod(secret, 0o640);
  await chmod(folder.path, 0o755);
  const { gid } = await stat(secret);
  const accounts = join(folder.path, 'etc');
  await mkdir(accounts);
  const user = (name: string, uid: number, group: number): string =>
    `${name}:x:${uid}:${group}::/:/bin/false\n`;
  await writeFile(
    join(accounts, 'passwd'),
    user('svc', PRIMARY, gid) + user('op', MEMBER, 4_000_000) + user('else', OTHER, 4_000_000),
  );
  await writeFile(join(accounts, 'group'), `svc:x:${gid}:nn,op\nnn:x:4000000:\n`);
  const readers = (path = secret): readonly number[] =>
    [PRIMARY, MEMBER, OTHER].filter((uid) => mayReadByGroup(path, uid, accounts));
  return { folder, secret, accounts, readers };
}

test('the group of a file lets its members read it, by passwd and by group, also through a link', async () => {
  const { folder, secret, readers } = await files();
  await using _ = folder;
  assert.deepEqual(readers(), [PRIMARY, MEMBER]);
  const link = join(folder.path, 'link.toml');
  await symlink(secret, link);
  assert.deepEqual(readers(link), [PRIMARY, MEMBER]);
});

test('no user reads by its group a file for its owner alone, for all users, or in a closed folder', async () => {
  const { folder, secret, readers } = await files();
  await using _ = folder;
  for (const mode of [0o600, 0o644]) {
    await chmod(secret, mode);
    assert.deepEqual(readers(), []);
  }
  await chmod(secret, 0o640);
  await chmod(folder.path, 0o700);
  assert.deepEqual(readers(), []);
  await chmod(folder.path, 0o750);
  assert.deepEqual(readers(), [PRIMARY, MEMBER]);
});

test('without tables of accounts, or without the file, no user is known to read it', async () => {
  const { folder, secret, readers } = await files();
  await using _ = folder;
  assert.deepEqual(readers(join(folder.path, 'none')), []);
  assert.equal(mayReadByGroup(secret, PRIMARY, join(folder.path, 'none')), false);
});
