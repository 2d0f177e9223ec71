import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ConfigError, ControlError, Weir, type LogLine } from '../../../src/index.ts';
import {
  disposable,
  parseAddress,
  type Address,
} from '../../../../../test/support/data/address.ts';
import { freedom, socksIn } from '../../../../../test/support/process/config.ts';
import { readAll, roundTrip } from '../../../../../test/support/read.ts';
import { bannerServer, echoServer } from '../../../../../test/support/peers/servers.ts';
import { socksConnect } from '../../../../../test/support/peers/socks-client.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

const BAD_API = '[api]\nlisten = "nonsense"\nsecret = ""\ncolour = 1\n';
const CONFIG = socksIn() + freedom('direct') + freedom('other');
const IGNORED = '[api] is not served here: calls are made directly';

async function subject(config = CONFIG, logLevel?: string) {
  const folder = await scratch();
  const path = join(folder.path, 'weir.toml');
  await writeFile(path, config);
  const lines: LogLine[] = [];
  return {
    path,
    lines,
    messages: (): string[] => lines.map(({ level, message }) => `${level}: ${message}`),
    start: () => Weir.start({ config: path, onLog: (line) => lines.push(line), logLevel }),
    socks: (): Address =>
      parseAddress(
        lines
          .map(({ message }) => /^inbound socks listening on (.*)$/.exec(message)?.[1])
          .findLast(Boolean) ?? '',
      ),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

const fails = (work: Promise<unknown>, code: string, message: string | RegExp): Promise<void> =>
  assert.rejects(work, (error) => {
    assert.ok(error instanceof ControlError, String(error));
    assert.equal(error.code, code);
    if (typeof message === 'string') assert.equal(error.message, message);
    else assert.match(error.message, message);
    return true;
  });

test('a host program starts, watches, steers and stops a proxy', async () => {
  await using it = await subject();
  await using echo = await echoServer();
  await using weir = await it.start();
  assert.equal(weir.version, '2.1.1');
  const events = weir.flowEvents();
  using socket = disposable(await socksConnect(it.socks(), echo.target));
  await roundTrip(socket, 'hello');

  const { sessions, flows } = weir.connections();
  assert.equal(sessions.length, 1);
  const { started_at, ...flow } = flows[0] ?? assert.fail('no flow');
  assert.ok(Math.abs(started_at - Date.now()) < 60_000);
  assert.deepEqual(flow, {
    id: 1,
    session: sessions[0]?.id,
    network: 'tcp',
    inbound: 'socks',
    user: null,
    source: '127.0.0.1',
    host: '127.0.0.1',
    port: echo.port,
    sniffed: null,
    outbound: 'direct',
    outbound_version: 1,
    rule: null,
    plane_epoch: 1,
    up: 5,
    down: 5,
  });
  const opened = await events.next();
  assert.ok(opened.value?.event === 'opened' && opened.value.flow.id === 1);

  const { view, etag } = await weir.routes();
  assert.deepEqual(view.default, { pick: null, target: 'direct', in_memory: false });
  const picked = await weir.pick('default', 'other', { ifMatch: etag });
  assert.ok(picked.report.status === 'applied');
  assert.deepEqual(picked.report.built, ['route']);
  assert.equal(await readFile(it.path, 'utf8'), `${CONFIG}[route]\ndefault = "other"\n`);
  assert.deepEqual(await weir.reload(), { status: 'unchanged' });

  assert.equal(weir.closeFlows({ inbound: 'nobody' }), 0);
  assert.equal(weir.closeFlow(1), true);
  await readAll(socket);
  const closed = await events.next();
  assert.ok(closed.value?.event === 'closed');
  assert.equal(weir.closeFlow(1), false);
  const end = events.next();
  await weir.stop({ graceMs: 0 });
  assert.equal((await end).done, true);
  assert.deepEqual(weir.connections(), { sessions: [], flows: [] });
});

describe('[api] in a host program', () => {
  test('is reported once as ignored, whatever its contents, and nothing of it is bound', async () => {
    await using it = await subject(BAD_API + CONFIG);
    await using weir = await it.start();
    const reported = (): number =>
      it.messages().filter((text) => text === `info: ${IGNORED}`).length;
    assert.equal(reported(), 1);
    await writeFile(it.path, `# more\n${BAD_API}${CONFIG}`);
    assert.equal((await weir.reload()).status, 'applied');
    assert.equal(reported(), 1);
    await writeFile(it.path, CONFIG);
    await weir.reload();
    await writeFile(it.path, BAD_API + CONFIG);
    await weir.reload();
    assert.equal(reported(), 2);
    assert.ok(!it.messages().some((text) => text.includes('API')), it.messages().join('\n'));
    // A pick is checked as the program would check it, which does not look at the section either.
    assert.equal((await weir.pick('default', 'other')).report.status, 'applied');
  });
});

describe('what a host program sees', () => {
  test('of a configuration that cannot be used is invalid, with the place', async () => {
    await using it = await subject('[[inbound]]\ncolour = 1\n');
    await fails(it.start(), 'invalid', /^TOML parse error at line 2, column 1\n/);
    await it.start().catch(({ cause }: Error) => {
      assert.ok(cause instanceof ConfigError);
      assert.equal(cause.location?.line, 2);
    });
  });

  test('of a file that is not there and an address that is taken is a failure', async () => {
    await using holder = await bannerServer('taken');
    await using it = await subject(CONFIG.replace('port = 0', `port = ${holder.port}`));
    await fails(it.start(), 'failed', /^inbound socks: .*address already in use$/);
    await rm(it.path);
    await fails(it.start(), 'failed', `cannot read ${it.path}: no such file or directory`);
  });

  test('of a pick is what the API tells', async () => {
    await using it = await subject();
    await using weir = await it.start();
    await fails(weir.pick('x', 'direct'), 'unknown_group', 'no route group named "x"');
    await fails(weir.pick('default', 'x'), 'invalid', /is named "x"; the route view lists them$/);
    await fails(weir.pick('default', 'other', { ifMatch: '"x"' }), 'stale', /its ETag is now "/);
    const reason = new Error('changed my mind');
    const signal = AbortSignal.abort(reason);
    await assert.rejects(weir.pick('default', 'other', { signal }), reason);
    assert.equal(await readFile(it.path, 'utf8'), CONFIG);
  });

  test('once it has stopped the proxy is that it has', async () => {
    await using it = await subject();
    const weir = await it.start();
    await Promise.all([weir.stop(), weir.stop()]);
    for (const call of [weir.routes(), weir.reload(), weir.pick('default', 'other')]) {
      await fails(call, 'failed', 'the proxy is stopping');
    }
    assert.equal((await weir.flowEvents().next()).done, true);
    assert.equal((await weir.traffic().next()).done, true);
  });

  test('in the log is what the level lets through', async () => {
    await using it = await subject(`[log]\nlevel = "trace"\n${CONFIG}`, 'off');
    await using _weir = await it.start();
    assert.deepEqual(it.lines, []);
  });
});

test('several run in one process, and none touches what is the process’s own', async () => {
  const before = process.eventNames().map((name) => [name, process.listenerCount(name)]);
  const errors = process.stderr.listenerCount('error');
  await using one = await subject();
  await using two = await subject();
  await using echo = await echoServer();
  {
    await using first = await one.start();
    await using second = await two.start();
    using socket = disposable(await socksConnect(two.socks(), echo.target));
    await roundTrip(socket, 'x');
    assert.deepEqual([first.connections().flows.length, second.connections().flows.length], [0, 1]);
    await first.stop();
    await roundTrip(socket, 'still here');
  }
  assert.deepEqual(
    process.eventNames().map((name) => [name, process.listenerCount(name)]),
    before,
  );
  assert.equal(process.stderr.listenerCount('error'), errors);
});
