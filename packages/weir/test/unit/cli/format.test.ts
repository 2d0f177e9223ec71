import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { formatCommand } from '../../../src/cli/config/format.ts';

async function run(context: TestContext, text: string, ...more: string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'weir-format-'));
  context.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'weir.toml');
  await writeFile(file, text);
  const io = { stdout: new PassThrough(), stderr: new PassThrough(), env: {} };
  const status = await formatCommand([...more, file], io);
  const stderr = String(io.stderr.read() ?? '').replaceAll(`${folder}/`, '');
  return { status, stderr, text: await readFile(file, 'utf8') };
}

test('a file is laid out, with its byte order mark, whatever its tables are', async (context) => {
  const { status, text } = await run(context, '\u{feff}[[proxy_server]]\n name="a" # S3cret\n');
  assert.equal(status, 0);
  assert.equal(text, '\u{feff}[[proxy_server]]\nname = "a" # S3cret\n');
});

test('--check writes nothing, and names the first line that differs', async (context) => {
  const before = 'a = 1\nb="S3cret"\n';
  const { status, stderr, text } = await run(context, before, '--check');
  assert.equal(status, 1);
  assert.equal(stderr, 'weir.toml:2: the layout is not canonical; weir format changes it\n');
  assert.equal(text, before);
  const { status: other, stderr: nothing } = await run(context, 'a = 1\n', '--check');
  assert.deepEqual([other, nothing], [0, '']);
});

test('a file that is not TOML is refused, without its values', async (context) => {
  const { status, stderr, text } = await run(context, 'a="S3cret\n');
  assert.equal(status, 1);
  assert.match(stderr, /^weir format: weir\.toml cannot be edited: TOML parse error at line 1/);
  assert.doesNotMatch(stderr, /S3cret/);
  assert.equal(text, 'a="S3cret\n');
});
