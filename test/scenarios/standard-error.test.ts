import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { followLog, requestStatus } from '@weir/server/control';
import { ApiClient } from '../../packages/server/test/conformance/api-client.ts';
import { Child } from '../support/process/child.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { API, Control } from '../support/process/control.ts';
import { eventually, within } from '../support/wait.ts';
import { program, scratch, Weir } from '../support/process/weir.ts';

const CONFIG = API + socksIn() + freedom();

/** Each reload of it logs a line of 100 KB. */
const REFUSED = `${CONFIG}[route]\ndefault = "${'x'.repeat(100_000)}"\n`;

/** The line of the error, and a hint. */
const LINES_EACH = 2;

const HINT = /^\S+Z {2}WARN svc_app\S*: hint: .*$/gm;
const ERROR_LINE = /^\S+Z ERROR svc_app::instance: reload: .*$/gm;
const NOTICE =
  /^\S+Z {2}WARN svc_app: (\d+) log lines were dropped because standard error was not read$/gm;

async function start() {
  const weir = await Weir.start(CONFIG);
  const control = await Control.of(weir);
  return {
    weir,
    client: control.api,
    /** Logs as many lines, each by a reload that completes before the next. */
    fail: async (times: number): Promise<void> => {
      await control.write(REFUSED);
      for (let i = 0; i < times; i++) {
        assert.equal((await control.post()).status, 422);
      }
    },
    [Symbol.asyncDispose]: () => weir[Symbol.asyncDispose](),
  };
}

test('lines that are not read are dropped and counted, and the process continues to serve', async () => {
  await using it = await start();
  const { child } = it.weir;
  const stderr = child.process.stderr ?? assert.fail();
  stderr.pause();
  await it.fail(30);
  assert.equal((await it.client.get('/v1/health')).status, 200);
  stderr.resume();
  const dropped = await child.until('the notice', ({ stderr }) => {
    const found = [...stderr.matchAll(NOTICE)].map(([, count]) => Number(count));
    return found.length > 0 ? found : undefined;
  });
  const written = child.stderr.match(ERROR_LINE) ?? [];
  assert.equal(dropped.length, 1);
  const hints = child.stderr.match(HINT) ?? [];
  assert.equal(written.length + hints.length + (dropped[0] ?? 0), 30 * LINES_EACH);
  // The backlog holds 1 MiB, and as much again may be on its way.
  assert.ok(written.length < 25, `${written.length} lines were written`);
  await it.fail(1);
  await child.until('the next line', ({ stderr }) =>
    (stderr.match(ERROR_LINE)?.length ?? 0) > written.length ? true : undefined,
  );
});

test('a process with unread lines still stops', async () => {
  await using it = await start();
  const { child } = it.weir;
  child.process.stderr?.pause();
  await it.fail(30);
  const ended = once(child.process, 'exit');
  child.signal('SIGTERM');
  assert.deepEqual(await within(ended, 'the end'), [0, null]);
});

test('lines that are read late are written before the process ends', async () => {
  await using it = await start();
  const { child } = it.weir;
  child.process.stderr?.pause();
  await it.fail(8);
  child.signal('SIGTERM');
  child.process.stderr?.resume();
  assert.deepEqual(await within(child.exited, 'the end'), { code: 0, signal: null });
  assert.equal(child.stderr.match(ERROR_LINE)?.length, 8);
  assert.match(child.stderr, /INFO svc_app: shutting down$/m);
});

test('a reader that closes its end does not end the process', async () => {
  await using it = await start();
  it.weir.child.process.stderr?.destroy();
  await it.fail(3);
  assert.equal((await it.client.get('/v1/health')).status, 200);
  const ended = once(it.weir.child.process, 'exit');
  it.weir.child.signal('SIGTERM');
  assert.deepEqual(await within(ended, 'the end'), [0, null]);
});

test('a full disk below standard error does not end the process, and each line counts once', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'weir.toml');
  const socket = join(folder.path, 'api.sock');
  const control = join(folder.path, 'control.sock');
  await writeFile(file, `[api]\nlisten = "${socket}"\n${freedom()}`);
  await using shell = new Child('sh', [
    '-c',
    'exec "$@" 2>/dev/full',
    'sh',
    ...program(),
    '--config',
    file,
    '--reload-socket',
    control,
  ]);
  const client = new ApiClient({ path: socket });
  await eventually('the API to respond', () =>
    client.get('/v1/health').then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  await writeFile(file, 'invalid');
  const lines: string[] = [];
  for (let n = 0; n < 20; n++) assert.equal((await client.ask('POST', '/v1/reload')).status, 422);
  for await (const event of followLog(control, { tail: true, follow: false })) {
    if (event.kind === 'line') lines.push(event.message);
  }
  assert.ok(lines.length > 20, lines.join('\n'));
  await eventually('the failure of the last write', async () => {
    const { missed } = await requestStatus(control);
    assert.ok(missed.log_lines <= lines.length, `${missed.log_lines} of ${lines.length}`);
    return missed.log_lines === lines.length;
  });
  shell.signal('SIGTERM');
  assert.deepEqual(await within(shell.exited, 'the end'), { code: 0, signal: null });
});
