import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { portOf } from '../support/data/address.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { isFree } from '../support/ports.ts';
import { roundTrip } from '../support/read.ts';
import { echoServer, tcpServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { Weir, runWeir, scratch } from '../support/process/weir.ts';
import { ApiClient } from '../../packages/server/test/conformance/api-client.ts';
import { api, apiAddresses, apiOf, editConfig, logged, start } from './api-support.ts';

const BASE = socksIn() + freedom();
const reload = (client: ApiClient): Promise<unknown> => client.json('POST', '/v1/reload');

test('without [api] nothing listens, with it the log has the address', async () => {
  await using off = await Weir.start(BASE);
  assert.doesNotMatch(off.child.stderr, /API/);
  await using running = await start(BASE + api());
  assert.match(
    running.weir.child.stderr,
    /Z  INFO svc_app: API listening on 127\.0\.0\.1:[1-9]\d*\n/,
  );
  assert.deepEqual(await running.client.json('GET', '/v1/health'), { status: 'ok' });
  assert.deepEqual(await running.client.json('GET', '/v1/version'), { version: '2.1.1' });
});

test('a check reports what is wrong with [api], and binds nothing', async () => {
  await using taken = await tcpServer(() => undefined);
  await using folder = await scratch();
  const file = join(folder.path, 'weir.toml');
  const check = async (table: string): Promise<string> => {
    await writeFile(file, `${BASE}[api]\n${table}\n`);
    const { stdout, stderr, ended } = await runWeir(['--test', '--config', file]);
    assert.equal(ended?.code, stdout === '' ? 1 : 0);
    return stdout + (/configuration invalid: (.*)/.exec(stderr)?.[1] ?? '');
  };
  assert.equal(await check(`listen = "127.0.0.1:${taken.port}"`), 'Configuration OK.\n');
  assert.equal(await check('secret = ""\nlisten = "0.0.0.0:0"'), '[api] secret is empty');
  assert.equal(
    await check('listen = "0.0.0.0:9090"'),
    '[api] listen 0.0.0.0:9090: an API reachable from other hosts needs a secret; listen on a loopback address or a unix socket, or set one',
  );
  assert.equal(
    await check('listen = "localhost:9090"'),
    '[api] listen "localhost:9090": expected ip:port, or a path (containing a /) for a unix socket',
  );
});

test('an API that cannot be bound at the start ends the process, with nothing left open', async () => {
  await using taken = await tcpServer(() => undefined);
  const listen = `127.0.0.1:${taken.port}`;
  await using weir = await Weir.launch(`${BASE}[api]\nlisten = "${listen}"\n`);
  assert.deepEqual(await weir.child.exited, { code: 1, signal: null });
  assert.match(
    weir.child.stderr,
    new RegExp(`ERROR svc_app: failed to start: API on ${listen}: .+\n`),
  );
  const inbound = weir.addresses.get('socks');
  if (inbound) assert.ok(await isFree(portOf(inbound)));
});

test('a reload through the API that changes the secret gets its response, and the old secret is then 401', async () => {
  await using running = await start(BASE + api('secret = "one"'));
  const { weir, client } = running;
  const [address] = apiAddresses(weir);
  assert.ok(address);
  const fixed = `127.0.0.1:${portOf(address)}`;
  await editConfig(weir, (text) => text.replace('127.0.0.1:0', fixed).replace('"one"', '"two"'));
  const reply = await client.ask('POST', '/v1/reload');
  assert.equal(reply.status, 200);
  const next = await apiOf(weir, 'two', 2);
  assert.deepEqual(next.address, address);
  assert.equal((await client.get('/v1/health')).status, 401);
  assert.equal((await next.get('/v1/health')).status, 200);
});

test('[api] may be removed, come back, and fail to be bound; the proxy continues', async () => {
  await using echo = await echoServer();
  await using taken = await tcpServer(() => undefined);
  await using running = await start(BASE + api());
  const { weir, client } = running;
  const flow = await socksConnect(weir.address('socks'), echo.target);
  const hup = (edit: (text: string) => string): Promise<void> =>
    editConfig(weir, edit).then(() => weir.child.signal('SIGHUP'));

  await editConfig(weir, (text) => text.replace(api(), ''));
  await reload(client);
  await logged(weir, /INFO svc_app: API stopped: the config no longer has \[api\]\n/);
  await assert.rejects(client.get('/v1/health'), /ECONNREFUSED/);

  await hup((text) => text + api());
  const back = await apiOf(weir, undefined, 2);
  assert.equal((await back.get('/v1/health')).status, 200);

  const blocked = `127.0.0.1:${taken.port}`;
  await hup((text) => text.replace('127.0.0.1:0', blocked));
  await logged(
    weir,
    new RegExp(`ERROR svc_app: API on ${blocked}: .*; it stays off until \\[api\\] changes\n`),
  );
  await hup((text) => text.replace(blocked, '127.0.0.1:0'));
  const again = await apiOf(weir, undefined, 3);
  assert.equal((await again.get('/v1/health')).status, 200);
  assert.equal(String(await roundTrip(flow, 'unmoved')), 'unmoved');
  flow.destroy();
});

test('a reload that is refused leaves the API alone', async () => {
  await using running = await start(BASE + api());
  const { weir, client } = running;
  await editConfig(weir, (text) => text.replace('listen = "127.0.0.1:0"', 'listen = "0.0.0.0:0"'));
  const { status, text } = await client.ask('POST', '/v1/reload');
  assert.equal(status, 422);
  assert.match(text, /needs a secret/);
  assert.equal((await client.get('/v1/health')).status, 200);
  assert.equal(apiAddresses(weir).length, 1);
});

test('a stop ends the API first: no new request, streams dropped after 5 seconds with a warning', async () => {
  await using running = await start(BASE + api());
  const { weir, client } = running;
  using events = await client.events('/v1/connections/events');
  weir.child.signal('SIGTERM');
  await logged(weir, /INFO svc_app: shutting down\n/);
  // One that the kernel had taken before the listener closed is reset, any later one refused.
  await assert.rejects(client.get('/v1/health'), /ECONNREFUSED|ECONNRESET/);
  assert.equal(await events.next(), undefined);
  assert.deepEqual(await weir.child.exited, { code: 0, signal: null });
  assert.match(
    weir.child.stderr,
    /WARN svc_app: API: requests still in flight when it stopped were dropped\n/,
  );
});

test('without streams a stop is quick and logs nothing', async () => {
  await using running = await start(BASE + api());
  await running.client.get('/v1/health');
  assert.deepEqual(await running.weir.stop(), { code: 0, signal: null });
  assert.doesNotMatch(running.weir.child.stderr, /WARN|ERROR/);
});

test('on a unix socket: a stale file is replaced, a live one is not', async () => {
  await using folder = await scratch();
  const path = join(folder.path, 'api.sock');
  const config = `${BASE}[api]\nlisten = "${path}"\n`;
  await using first = await start(config);
  assert.deepEqual(first.client.address, { path });
  await using second = await Weir.launch(config);
  assert.deepEqual(await second.child.exited, { code: 1, signal: null });
  assert.match(
    second.child.stderr,
    /failed to start: API on .*api\.sock: address already in use\n/,
  );
  assert.equal((await first.client.get('/v1/health')).status, 200);
  await first.weir.stop('SIGKILL');
  await using third = await start(config);
  assert.equal((await third.client.get('/v1/health')).status, 200);
});

test('a relative path is one of the working directory', async () => {
  await using folder = await scratch();
  await using running = await start(`${BASE}[api]\nlisten = "./api.sock"\n`, { cwd: folder.path });
  assert.match(running.weir.child.stderr, /API listening on \.\/api\.sock\n/);
  const client = new ApiClient({ path: join(folder.path, 'api.sock') });
  assert.equal((await client.get('/v1/health')).status, 200);
});

test('the secret is in no line of the log, at any level', async () => {
  const secret = 'open-sesame-1234';
  await using running = await start(BASE + api(`secret = "${secret}"`), {
    env: { RUST_LOG: 'trace' },
  });
  const { weir, client } = running;
  await client.json('GET', '/v1/connections');
  await editConfig(weir, (text) => text.replace(secret, `${secret}-2`));
  await reload(client);
  await apiOf(weir, undefined, 2);
  await weir.stop();
  assert.doesNotMatch(weir.child.stderr, new RegExp(secret));
});

test('weir ctl has a hint where a name is nearly one of the running Weir', async () => {
  await using running = await start(BASE + api());
  const where = ['--api', running.client.host];
  for (const [words, hint] of [
    [
      ['pick', 'default', 'blackhol'],
      'no node, outbound or balancer .*\nhint: did you mean "blackhole"',
    ],
    [['pick', 'defualt', 'direct'], 'no route group .*\nhint: did you mean "default"'],
    [['pick', 'defualt', 'direct', '--close'], 'no route group .*\nhint: did you mean "default"'],
  ] as const) {
    const { ended, stderr } = await runWeir(['ctl', ...words, ...where]);
    assert.equal(ended?.code, 1);
    assert.match(stderr, new RegExp(`^weir ctl: ${hint}\\?\n$`));
  }
});

test('many clients of events of which half never read: traffic moves, memory is bounded, lag is counted', async () => {
  await using echo = await echoServer();
  await using running = await start(BASE + api());
  const { weir, client } = running;
  const readers = await Promise.all(
    Array.from({ length: 60 }, () => client.events('/v1/connections/events')),
  );
  const deaf = readers.filter((_, index) => index % 2 === 0);
  for (const { message } of deaf) message.pause();
  const busy = await socksConnect(weir.address('socks'), echo.target);
  const ROUNDS = 150;
  for (let round = 0; round < ROUNDS; round++) {
    const flows = await Promise.all(
      Array.from({ length: 4 }, () => socksConnect(weir.address('socks'), echo.target)),
    );
    for (const flow of flows) flow.destroy();
    assert.equal(String(await roundTrip(busy, `round ${round}`)), `round ${round}`);
  }
  // Each client received every event, or the number of those that it missed.
  const expected = ROUNDS * 4 * 2 + 1;
  for (const { message } of deaf) message.resume();
  for (const reader of readers) {
    let known = 0;
    while (known < expected) {
      const event = await reader.next();
      assert.ok(event, 'the stream continues');
      if (event.name === 'lagged') known += (event.data as { missed: number }).missed;
      else if (event.name !== ':') known++;
    }
    assert.equal(known, expected);
    reader[Symbol.dispose]();
  }
  busy.destroy();
});
