import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { parseFetch, fetchCommand } from '../../../../src/cli/nodes/fetch.ts';
import { CapturedIo } from '../../../../../../test/support/process/captured-io.ts';
import { scratch } from '../../../../../../test/support/process/weir.ts';

const PAGES: Readonly<Record<string, string | Buffer>> = {
  '/text': 'one\r\ntwo\t\u001b[31mred\u202e',
  '/binary': Buffer.of(0xff, 0xfe, 0),
  '/zero': 'a\0b',
};

const server = createServer((request, response) => {
  const page = PAGES[request.url ?? ''];
  response.setHeader('X-Seen', `${request.method} ${String(request.headers['x-a'] ?? '')}`);
  response.setHeader('X-Odd', '\u009b31m');
  response.writeHead(page === undefined ? 404 : 200).end(page ?? 'none such');
});
let base: string;
before(async () => {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => void server.close());

async function run(args: readonly string[], isTTY = false) {
  const io = new CapturedIo({}, isTTY);
  const status = await fetchCommand(args, io);
  return { status, out: io.out, err: io.err };
}

suite('weir fetch', () => {
  test('writes the bytes of a body to a pipe', async () => {
    const result = await run([`${base}/text`]);
    assert.deepEqual(result, { status: 0, out: PAGES['/text'], err: '' });
  });

  test('escapes what would act on a terminal', async () => {
    const { out } = await run([`${base}/text`], true);
    assert.equal(out, 'one\ntwo\t\\u{1b}[31mred\\u{202e}\n');
  });

  test('writes nothing binary to a terminal', async () => {
    for (const page of ['/binary', '/zero']) {
      const { status, out, err } = await run([base + page], true);
      assert.deepEqual([status, out], [1, '']);
      assert.match(err, /^weir fetch: the body is not text.*\nhint: --output FILE saves it\n$/);
    }
  });

  test('prints the status and the headers, and sends those that are given', async () => {
    const { status, out } = await run(['-I', '-H', 'X-A: 1', '-H', 'X-B:2', `${base}/text`]);
    assert.equal(status, 0);
    assert.match(out, /^200 OK\n/);
    assert.match(out, /^x-seen: HEAD 1$/m);
    assert.match(out, /^x-odd: \\u\{9b\}31m$/m);
    assert.match(out, /\n\n$/);
    const both = await run(['--include', `${base}/zero`]);
    assert.match(both.out, /^200 OK\n[^]*\n\na\0b$/);
  });

  test('fails for a status of 400 or more, and prints the body', async () => {
    const { status, out, err } = await run([`${base}/secret?secret`]);
    assert.deepEqual([status, out], [1, 'none such']);
    assert.match(
      err,
      /^weir fetch: 127\.0\.0\.1:\d+: the response has the status 404 Not Found\n$/,
    );
  });

  test('saves a body', async () => {
    await using folder = await scratch();
    const file = `${folder.path}/body`;
    assert.deepEqual(await run(['-o', file, `${base}/binary`], true), {
      status: 0,
      out: '',
      err: '',
    });
    assert.deepEqual(await readFile(file), PAGES['/binary']);
    const { status, err } = await run(['-o', `${file}/none`, `${base}/text`]);
    assert.equal(status, 1);
    assert.match(err, /^weir fetch: cannot write .*: not a directory$/m);
  });
});

test('limits and headers are checked', () => {
  const parsed = parseFetch(['--max-size', '2M', '--max-time', '0.5', '-A', 'x', 'http://a/']);
  assert.equal(parsed?.maxBytes, 2_000_000);
  assert.equal(parsed.timeoutMs, 500);
  assert.deepEqual(parsed.headers, { 'user-agent': 'x' });
  for (const args of [
    [],
    ['a', 'b'],
    ['--max-size', '-1', 'a'],
    ['--max-size', '1T', 'a'],
    ['--max-time', '0', 'a'],
    ['--max-time', '1e9', 'a'],
    ['--header', 'secret', 'a'],
    ['--config', 'weir.toml', 'a'],
  ]) {
    assert.throws(
      () => parseFetch(args),
      (error: Error) => {
        assert.doesNotMatch(error.message, /secret/);
        return error.name === 'UsageError';
      },
    );
  }
});
