import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { ConfigLoader, ConfigThread } from '../../../../src/app/loading/config-loader.ts';
import { InlineRunner } from '../../../../src/app/loading/inline-runner.ts';
import { RegexCache } from '@weir/proxy/names';
import { ConfigError, DocumentReadError } from '@weir/config';

/** Longer than what is read at once. */
const LONG = `# ${'x'.repeat(300_000)}\n`;

const CONFIG = `[[outbound]]\ntag = "own"\nprotocol = "freedom"\n[subscribe]\npath = "sub.toml"\n`;
const SUBSCRIBE = `[[proxy_server]]\nname = "node"\nprotocol = "freedom"\n[[route_group]]\nname = "Group"\n`;

const thread = new ConfigThread();
after(() => thread.stop(new Error('the tests are over')));

const regexes = new RegexCache();
const loader = ConfigLoader.beside(thread, { regexes, serveApi: true });
const inline = new InlineRunner({ limit: Infinity, regexes });

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
    const here = await inline.run({ kind: 'routes', path });
    const read = await loader.routes({ path });
    assert.deepEqual(read.view, here.view);
    assert.equal(read.subscribe, true);
    assert.equal(Buffer.from(read.bytes).toString(), config);
    const { bytes, subscribe: subscribed } = read;
    const pick = { group: 'Group', target: 'node' };
    const edited = await loader.edit({ path, bytes, subscribe: subscribed, ...pick });
    const text = Buffer.from(edited).toString();
    assert.equal(text.replace(/\n?\[subscribe\.routes\]\nGroup = "node"\n/, ''), config);
    assert.notEqual(text, config);
  });
}

test('errors of large files are reported like those of small ones', async (context) => {
  const path = await files(context, `${LONG}[[`, '');
  await assert.rejects(loader.routes({ path }), (error) => {
    assert.ok(error instanceof ConfigError && !(error instanceof DocumentReadError));
    assert.match(error.message, /^TOML parse error at line 2, column /);
    assert.deepEqual(error.location?.line, 2);
    return true;
  });
  await writeFile(path, `${LONG}[subscribe]\npath = "gone.toml"\n`);
  await assert.rejects(loader.routes({ path }), (error) => {
    assert.ok(error instanceof DocumentReadError);
    assert.equal(error.kind, 'io');
    assert.match(error.message, /^subscribe file .*gone\.toml: no such file or directory$/);
    return true;
  });
  const edit = { bytes: Buffer.from(`${LONG}route = 1\n`), subscribe: false };
  await assert.rejects(loader.edit({ path, ...edit, group: 'default', target: 'a' }), ConfigError);
});
