import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { editConfigFile, EditError } from '../../../src/app/edit-config.ts';
import { watchedFiles } from '../../../../../test/support/files/watched-files.ts';

const DIRECT = '[[outbound]]\ntag = "direct"\nprotocol = "freedom"\n';

async function configFile(context: TestContext, text = DIRECT): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-edit-'));
  context.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'weir.toml');
  await writeFile(path, text);
  return path;
}

const append =
  (text: string) =>
  (bytes: Uint8Array): Uint8Array =>
    Buffer.concat([bytes, Buffer.from(text)]);

const INBOUND = '\n[[inbound]]\ntag = "in"\nprotocol = "socks"\nport = 0\n';

test('a file is edited, and the edit can be undone', async (context) => {
  const path = await configFile(context);
  const edited = await editConfigFile(path, append(INBOUND));
  assert.equal(edited.changed, true);
  assert.equal(await readFile(path, 'utf8'), DIRECT + INBOUND);
  await edited.undo();
  assert.equal(await readFile(path, 'utf8'), DIRECT);
});

test('an edit that changes nothing writes nothing', async (context) => {
  const path = await configFile(context);
  const fs = watchedFiles((step) => assert.fail(step));
  const { changed, undo } = await editConfigFile(path, (bytes) => bytes, { fs });
  assert.equal(changed, false);
  await undo();
});

test('a dry run checks, and writes nothing', async (context) => {
  const path = await configFile(context);
  const fs = watchedFiles((step) => assert.fail(step));
  const dryRun = { dryRun: true, fs };
  const { changed, undo } = await editConfigFile(path, append(INBOUND), dryRun);
  assert.equal(changed, true);
  await undo();
  await assert.rejects(editConfigFile(path, append('x = 1\n'), dryRun), { code: 'invalid' });
});

test('what would be invalid is not written, for a reason that --test gives', async (context) => {
  const path = await configFile(context);
  const unbuilt =
    '[[inbound]]\ntag = "in"\nprotocol = "trojan"\nport = 0\n' +
    '[inbound.stream]\nnetwork = "grpc"\n';
  for (const [text, reason] of [
    [
      '[[inbound]]\ntag = "in"\nprotocol = "socks"\n',
      /would be invalid: port is required\n {2}at /,
    ],
    ['[', /would be invalid: TOML parse error at line 4/],
    [unbuilt, /would be invalid: .*grpc\.service_name/],
  ] as const) {
    await assert.rejects(editConfigFile(path, append(text)), (error) => {
      assert.ok(error instanceof EditError);
      assert.equal(error.code, 'invalid');
      assert.match(error.message, reason);
      return true;
    });
    assert.equal(await readFile(path, 'utf8'), DIRECT);
  }
});

test('what another program writes meanwhile is kept', async (context) => {
  const path = await configFile(context);
  const check = (): Promise<void> => writeFile(path, `# mine\n${DIRECT}`);
  await assert.rejects(editConfigFile(path, append(INBOUND), { check }), { code: 'stale' });
  const { undo } = await editConfigFile(path, append(INBOUND));
  await writeFile(path, `# mine\n${DIRECT}`);
  await assert.rejects(undo(), { code: 'stale' });
  assert.equal(await readFile(path, 'utf8'), `# mine\n${DIRECT}`);
});

test('a file that cannot be read or written is named', async (context) => {
  const path = await configFile(context);
  await assert.rejects(editConfigFile(`${path}.none`, append('')), {
    code: 'unreadable',
    message: `cannot read ${path}.none: no such file or directory`,
  });
  const fs = watchedFiles((step) => {
    if (step === 'write') throw new Error('the disk is full');
  });
  await assert.rejects(editConfigFile(path, append(INBOUND), { fs }), {
    code: 'write',
    message: `cannot write ${path}: the disk is full`,
  });
  assert.equal(await readFile(path, 'utf8'), DIRECT);
  assert.deepEqual(await readdir(join(path, '..')), ['weir.toml']);
});

test('edits at once are made one after the other, and none is lost', async (context) => {
  const path = await configFile(context);
  const check = (): Promise<void> => turn();
  const comments = Array.from({ length: 20 }, (_, index) => `# ${index}\n`);
  await Promise.all(comments.map((text) => editConfigFile(path, append(text), { check })));
  const lines = (await readFile(path, 'utf8')).slice(DIRECT.length).match(/.*\n/g);
  assert.deepEqual(lines?.toSorted(), comments.toSorted());
  assert.deepEqual(await readdir(join(path, '..')), ['weir.toml']);
});

test('the lock of a process that was killed does not prevent edits', async (context) => {
  const path = await configFile(context);
  await writeFile(join(path, '..', '.weir.toml.lock'), '999999999 1\n');
  await editConfigFile(path, append(INBOUND));
  assert.deepEqual(await readdir(join(path, '..')), ['weir.toml']);
});

test('a file is edited by a link to it, under the lock of the file itself', async (context) => {
  const path = await configFile(context);
  const other = join(path, '..', 'link.toml');
  await symlink(path, other);
  const check = (): Promise<void> => turn();
  await Promise.all([path, other].map((each) => editConfigFile(each, append('#\n'), { check })));
  assert.equal(await readFile(path, 'utf8'), `${DIRECT}#\n#\n`);
});
