import assert from 'node:assert/strict';
import {
  chmod,
  chown,
  link,
  mkdir,
  mkdtemp,
  open,
  readFile,
  readdir,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { readAccessList } from '@weir/io/files';
import { openSelf } from '@weir/io/platform/native';
import { isTemporaryName, replaceFile, systemFiles } from '../../../src/app/replace-file.ts';
import { Child } from '../../../../../test/support/process/child.ts';
import { STEPS, watchedFiles, type Step } from '../../../../../test/support/files/watched-files.ts';

const OLD = 'old contents\n';
const NEW = Buffer.from('new contents\n');
const WRITER = join(import.meta.dirname, '../../../../../test/support/process/killed-writer.ts');

/** A folder that holds only `weir.toml`, readable by its group. */
async function folderWithFile(t: TestContext): Promise<{ folder: string; file: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-replace-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'weir.toml');
  await writeFile(file, OLD);
  await chmod(file, 0o640);
  return { folder, file };
}

/** The owner reads and writes, the user 1234 reads, the group and others may do nothing: acl(5), linux/posix_acl_xattr.h. */
const LIST = Uint8Array.fromHex(
  '02000000' +
    '01000600ffffffff' +
    '02000400d2040000' +
    '04000000ffffffff' +
    '10000400ffffffff' +
    '20000000ffffffff',
);

/** Sets an extended attribute; skips the test and returns false where there are none. */
function setAttribute(t: TestContext, path: string, name: string, value: Uint8Array): boolean {
  if (process.platform === 'linux') {
    const setxattr = openSelf().func(
      'int setxattr(const char *, const char *, const uint8_t *, size_t, int)',
    );
    if (setxattr(path, name, value, value.length, 0) === 0) return true;
  }
  t.skip('the file system has no access control lists');
  return false;
}

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o7777;

test('a file is replaced, keeps its mode, and nothing is left beside it', async (t) => {
  const { folder, file } = await folderWithFile(t);
  const { ino } = await stat(file);
  await replaceFile(file, NEW);
  assert.deepEqual(await readFile(file), NEW);
  assert.equal(await modeOf(file), 0o640);
  assert.notEqual((await stat(file)).ino, ino, 'another file with the same name');
  assert.deepEqual(await readdir(folder), ['weir.toml']);
});

for (const mode of [0o400, 0o444, 0o600, 0o666, 0o755]) {
  test(`the mode ${mode.toString(8)} is kept, whatever the umask`, async (t) => {
    const { file } = await folderWithFile(t);
    await chmod(file, mode);
    await replaceFile(file, NEW);
    assert.equal(await modeOf(file), mode);
    assert.deepEqual(await readFile(file), NEW);
  });
}

test(
  'the owner and the group are kept when root replaces the file of a service',
  { skip: process.geteuid?.() !== 0 && 'only root can give files away' },
  async (t) => {
    const { file } = await folderWithFile(t);
    await chown(file, 12_345, 23_456);
    await chmod(file, 0o2640);
    await replaceFile(file, NEW);
    const { uid, gid } = await stat(file);
    assert.deepEqual([uid, gid, await modeOf(file)], [12_345, 23_456, 0o2640]);
  },
);

describe('the access control list', () => {
  test('is kept, so that neither its users lose access nor the group gets theirs', async (t) => {
    const { file } = await folderWithFile(t);
    if (!setAttribute(t, file, 'system.posix_acl_access', LIST)) return;
    await replaceFile(file, NEW);
    assert.deepEqual(readAccessList(file), LIST);
    assert.equal(await modeOf(file), 0o640);
  });

  test('of the folder does not become that of a file without one', async (t) => {
    const { folder, file } = await folderWithFile(t);
    if (!setAttribute(t, folder, 'system.posix_acl_default', LIST)) return;
    await writeFile(join(folder, 'other'), '');
    assert.ok(readAccessList(join(folder, 'other')));
    await replaceFile(file, NEW);
    assert.equal(readAccessList(file), undefined);
    assert.equal(await modeOf(file), 0o640);
  });
});

test('the steps are taken in an order that never shows half a file', async (t) => {
  const { file } = await folderWithFile(t);
  const steps: Step[] = [];
  await replaceFile(
    file,
    NEW,
    watchedFiles((step) => steps.push(step)),
  );
  assert.deepEqual(steps, [...STEPS]);
});

test('the new file is for its owner only until it has the mode of the old one', async (t) => {
  const { folder, file } = await folderWithFile(t);
  await chmod(file, 0o666);
  const modes: Partial<Record<Step, number>> = {};
  const fs = watchedFiles(async (step) => {
    const name = (await readdir(folder)).find((entry) => isTemporaryName(entry, 'weir.toml'));
    if (name !== undefined) modes[step] = await modeOf(join(folder, name));
  });
  await replaceFile(file, NEW, fs);
  assert.deepEqual(modes, {
    write: 0o600,
    chown: 0o600,
    setAccessList: 0o600,
    chmod: 0o600,
    sync: 0o666,
    close: 0o666,
    rename: 0o666,
  });
});

test('links stay, and the file at their end is replaced', async (t) => {
  const { folder, file } = await folderWithFile(t);
  const elsewhere = join(folder, 'links');
  await mkdir(elsewhere);
  await symlink('../weir.toml', join(elsewhere, 'inner'));
  await symlink(join('links', 'inner'), join(folder, 'outer'));
  await replaceFile(join(folder, 'outer'), NEW);
  assert.deepEqual(await readFile(file), NEW);
  assert.equal(await readlink(join(folder, 'outer')), join('links', 'inner'));
  assert.equal(await readlink(join(elsewhere, 'inner')), '../weir.toml');
  assert.deepEqual(await readdir(elsewhere), ['inner']);
});

test('a hard link keeps the old contents', async (t) => {
  const { folder, file } = await folderWithFile(t);
  await link(file, join(folder, 'other'));
  await replaceFile(file, NEW);
  assert.equal(await readFile(join(folder, 'other'), 'utf8'), OLD);
  assert.deepEqual(await readFile(file), NEW);
});

test('a file that is open elsewhere stays as it was', async (t) => {
  const { file } = await folderWithFile(t);
  await using reader = await open(file);
  await replaceFile(file, NEW);
  assert.equal(await reader.readFile('utf8'), OLD);
});

/** What each failing step leaves: all but the last leave everything as it was. */
for (const failing of STEPS) {
  const replaced = failing === 'syncFolder';
  test(`when ${failing} fails, the file is ${replaced ? 'replaced' : 'as it was'}`, async (t) => {
    const { folder, file } = await folderWithFile(t);
    const { ino } = await stat(file);
    const fault = new Error(`${failing} fails`);
    const fs = watchedFiles((step) => {
      if (step === failing) throw fault;
    });
    await assert.rejects(replaceFile(file, NEW, fs), fault);
    assert.equal(await readFile(file, 'utf8'), replaced ? NEW.toString() : OLD);
    assert.equal(await modeOf(file), 0o640);
    if (!replaced) assert.equal((await stat(file)).ino, ino);
    assert.deepEqual(await readdir(folder), ['weir.toml']);
  });
}

test('a failure is reported even when the cleanup after it fails too', async (t) => {
  const { file } = await folderWithFile(t);
  const fault = new Error('the disk is full');
  const fs = watchedFiles((step) => {
    if (step === 'write') throw fault;
    if (step === 'close' || step === 'unlink') throw new Error('and this');
  });
  await assert.rejects(replaceFile(file, NEW, fs), fault);
  assert.equal(await readFile(file, 'utf8'), OLD);
});

test('a missing path, or one that is not a file, fails with the error of the system', async (t) => {
  const { folder, file } = await folderWithFile(t);
  await assert.rejects(replaceFile(join(folder, 'none'), NEW), { code: 'ENOENT' });
  await symlink('none', join(folder, 'dangling'));
  await assert.rejects(replaceFile(join(folder, 'dangling'), NEW), { code: 'ENOENT' });
  await assert.rejects(replaceFile(join(file, 'below'), NEW), { code: 'ENOTDIR' });
  assert.deepEqual((await readdir(folder)).sort(), ['dangling', 'weir.toml']);
});

test('a folder is not replaced by a file', async (t) => {
  const { folder } = await folderWithFile(t);
  await mkdir(join(folder, 'sub'));
  await assert.rejects(replaceFile(join(folder, 'sub'), NEW), { code: 'EISDIR' });
  assert.deepEqual((await readdir(folder)).sort(), ['sub', 'weir.toml']);
});

test('names that are taken are passed over, and not touched', async (t) => {
  const { folder, file } = await folderWithFile(t);
  for (let number = 7; number < 70; number += 1) {
    await writeFile(join(folder, `.weir.toml.${number}.tmp`), 'taken');
  }
  await replaceFile(file, NEW, systemFiles, 7);
  assert.deepEqual(await readFile(file), NEW);
  const left = await readdir(folder);
  assert.equal(left.length, 64);
  for (const name of left.filter((entry) => entry !== 'weir.toml')) {
    assert.equal(await readFile(join(folder, name), 'utf8'), 'taken');
  }
});

test('after 64 names that are taken it is given up', async (t) => {
  const { folder, file } = await folderWithFile(t);
  for (let number = 7; number < 71; number += 1) {
    await symlink(file, join(folder, `.weir.toml.${number}.tmp`));
  }
  await assert.rejects(replaceFile(file, NEW, systemFiles, 7), {
    code: 'no_temporary_name',
    message: `no free temporary name for weir.toml in ${folder}`,
  });
  assert.equal(await readFile(file, 'utf8'), OLD, 'nor was it written through a link');
});

test('a folder without write permission fails at once', async (t) => {
  const { file } = await folderWithFile(t);
  let tried = 0;
  const fs = watchedFiles((step) => {
    if (step !== 'create') return;
    tried += 1;
    throw Object.assign(new Error('permission denied'), { code: 'EACCES' });
  });
  await assert.rejects(replaceFile(file, NEW, fs), { code: 'EACCES' });
  assert.equal(tried, 1);
});

test('temporary names are distinguished from those of users and editors', () => {
  assert.ok(isTemporaryName('.weir.toml.0.tmp', 'weir.toml'));
  assert.ok(isTemporaryName('.weir.toml.2147483647.tmp', 'weir.toml'));
  for (const name of [
    'weir.toml',
    '.weir.toml.tmp',
    '.weir.toml..tmp',
    '.weir.toml.1.tmp~',
    '.weir.toml.swp',
    '.other.toml.1.tmp',
    '.weir.toml.x.1.tmp',
  ]) {
    assert.ok(!isTemporaryName(name, 'weir.toml'), name);
  }
});

for (const step of ['create', 'write', 'half', 'chmod', 'sync', 'rename', 'syncFolder']) {
  const replaced = step === 'syncFolder';
  test(`kill -9 before ${step} leaves the ${replaced ? 'new' : 'old'} file`, async (t) => {
    const { folder, file } = await folderWithFile(t);
    await using child = new Child(process.execPath, [WRITER, file, step]);
    assert.deepEqual(await child.exited, { code: null, signal: 'SIGKILL' }, child.stderr);
    assert.equal(await readFile(file, 'utf8'), replaced ? 'new\n'.repeat(50_000) : OLD);
    assert.equal(await modeOf(file), 0o640);
    const left = (await readdir(folder)).filter((entry) => entry !== basename(file));
    assert.equal(left.length, replaced || step === 'create' ? 0 : 1);
    assert.ok(left.every((entry) => isTemporaryName(entry, 'weir.toml')));
    // The next write is not in the way of what is left.
    await replaceFile(file, NEW);
    assert.deepEqual(await readFile(file), NEW);
  });
}
