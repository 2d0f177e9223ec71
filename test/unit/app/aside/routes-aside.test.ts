import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { FileLog } from '../../../../src/app/log/file-log.ts';
import {
  editPickAside,
  readRoutes,
  readRoutesAside,
} from '../../../../src/app/aside/routes-aside.ts';
import { ConfigThread } from '../../../../src/app/aside/thread.ts';
import { ConfigError, DocumentReadError } from '../../../../src/config/errors.ts';

/** Longer than what is read at once. */
const LONG = `# ${'x'.repeat(300_000)}\n`;

const CONFIG = `[[outbound]]\ntag = "own"\nprotocol = "freedom"\n[subscribe]\npath = "sub.toml"\n`;
const SUBSCRIBE = `[[proxy_server]]\nname = "node"\nprotocol = "freedom"\n[[route_group]]\nname = "Group"\n`;

const thread = new ConfigThread();
after(() => thread.stop(new Error('the tests are over')));

async function files(context: TestContext, config: string, subscribe: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-routes-'));
  context.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'sub.toml'), subscribe);
  const path = join(folder, 'weir.toml');
  await writeFile(path, config);
  return path;
}

for (const [what, config, subscribe] of [
  ['a large configuration', CONFIG + LONG, SUBSCRIBE],
  ['a large subscribe file', CONFIG, SUBSCRIBE + LONG],
  ['small files', CONFIG, SUBSCRIBE],
] as const) {
  test(`the routes of ${what} are read and edited as those of any other`, async (context) => {
    const path = await files(context, config, subscribe);
    const here = await readRoutes(path, new FileLog());
    const read = await readRoutesAside(path, thread);
    assert.deepEqual(read.view, here.view);
    assert.equal(read.subscribe, true);
    assert.equal(Buffer.from(read.bytes).toString(), config);
    const edited = await editPickAside(read, 'Group', 'node', path, thread);
    const text = Buffer.from(edited).toString();
    assert.equal(text.replace(/\n?\[subscribe\.routes\]\nGroup = "node"\n/, ''), config);
    assert.notEqual(text, config);
  });
}

test('errors of large files are reported like those of small ones', async (context) => {
  const path = await files(context, `${LONG}[[`, '');
  await assert.rejects(readRoutesAside(path, thread), (error) => {
    assert.ok(error instanceof ConfigError && !(error instanceof DocumentReadError));
    assert.match(error.message, /^TOML parse error at line 2, column /);
    assert.deepEqual(error.location?.line, 2);
    return true;
  });
  await writeFile(path, `${LONG}[subscribe]\npath = "gone.toml"\n`);
  await assert.rejects(readRoutesAside(path, thread), (error) => {
    assert.ok(error instanceof DocumentReadError);
    assert.equal(error.kind, 'io');
    assert.match(error.message, /^subscribe file .*gone\.toml: no such file or directory$/);
    return true;
  });
  const read = { bytes: Buffer.from(`${LONG}route = 1\n`), etag: '', subscribe: false };
  const view = { default: { pick: null, target: null }, groups: [], targets: [] };
  await assert.rejects(editPickAside({ ...read, view }, 'default', 'a', path, thread), ConfigError);
});
