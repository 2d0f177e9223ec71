import assert from 'node:assert/strict';
import { readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'node:test';
import { lockEdited } from '../../packages/server/src/app/lock-file.ts';
import { etagOf } from '../support/process/control.ts';
import { freedom, proxyOut, socksIn } from '../support/process/config.ts';
import { recorder } from '../support/peers/recorder.ts';
import { eventually } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';
import type { Reply } from '../../packages/server/test/conformance/api-client.ts';
import { api, apiOf, configFile, editConfig, errorOf, readConfig, start } from './api-support.ts';

const SUBSCRIBE = (port: number): string => `[[proxy_server]]
name = "Tokyo 1"
protocol = "socks"
server = "127.0.0.1"
port = ${port}
[[route_group]]
name = "Video Streaming"
[[route_group.rule]]
domain_suffix = ["video.example"]
[[route_group]]
name = "Films"
inherit = { group = "Video Streaming" }
[[route_group.rule]]
domain_suffix = ["films.example"]
`;

/** A Weir with the recorders `home` (its own outbound) and `tokyo` (a node of its subscribe file). */
async function subscribed() {
  const stack = new AsyncDisposableStack();
  const home = stack.use(await recorder('home'));
  const tokyo = stack.use(await recorder('tokyo'));
  const config = `${socksIn()}${proxyOut('home', 'socks', home)}[subscribe]\npath = "nodes.toml"\n`;
  // The API comes up only with the subscribe file, which cannot be there before the folder is.
  const weir = stack.use(await Weir.start(socksIn() + freedom() + api()));
  await writeFile(join(weir.folder, 'nodes.toml'), SUBSCRIBE(tokyo.port));
  await writeFile(configFile(weir), config + api());
  const client = await apiOf(weir);
  await client.json('POST', '/v1/reload');
  return { weir, client, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

test('errors of reading and of checking have their own status and path', async () => {
  await using running = await subscribed();
  const { weir, client } = running;
  const file = configFile(weir);
  const good = await readConfig(weir);
  const nodes = join(weir.folder, 'nodes.toml');
  const expect = (reply: Reply, status: number, error: string | RegExp): void => {
    assert.equal(reply.status, status, reply.text);
    if (typeof error === 'string') assert.equal(errorOf(reply.text), error);
    else assert.match(errorOf(reply.text), error);
  };
  const reload = (): Promise<Reply> => client.ask('POST', '/v1/reload');

  await editConfig(weir, (text) => text.replace('path = "nodes.toml"', 'path = "gone.toml"'));
  const missing = /: subscribe file .*gone\.toml: .*no such file/i;
  for (const reply of [await client.get('/v1/routes'), await client.pick('default', 'home')]) {
    expect(reply, 500, missing);
    assert.ok(errorOf(reply.text).startsWith(`${file}: subscribe file `));
  }
  const unread = await reload();
  expect(unread, 500, missing);
  assert.ok(errorOf(unread.text).startsWith(`cannot read ${file}: subscribe file `));

  await editConfig(weir, (text) => text.replace('path = "gone.toml"\n', ''));
  const needsPath = '[subscribe] needs a path naming the subscribe file';
  expect(await client.get('/v1/routes'), 422, `${file}: ${needsPath}`);
  expect(await client.pick('default', 'home'), 422, `${file}: ${needsPath}`);
  expect(await reload(), 422, `cannot read ${file}: ${needsPath}`);
  expect(
    await reload(),
    422,
    `cannot read ${file}: ${needsPath} (the files have not changed since this was found)`,
  );

  await writeFile(file, 'not = = toml');
  expect(await client.get('/v1/routes'), 422, /^TOML parse error at line 1/);
  expect(await client.pick('default', 'home'), 422, /^TOML parse error at line 1/);
  expect(await reload(), 422, /^TOML parse error at line 1/);

  await writeFile(file, good);
  await writeFile(nodes, '[[route_group]]\nname = 5\n');
  expect(await client.get('/v1/routes'), 422, /^TOML parse error at line 2/);
  await writeFile(nodes, SUBSCRIBE(1));
  assert.equal((await reload()).status, 200);
});

test('a pick waits for a command that edits the file, and is made after it unless its tag is of before', async () => {
  await using running = await start(`${socksIn()}${freedom('a')}${freedom('b')}${api()}`);
  const { weir, client } = running;
  const { headers } = await client.get('/v1/routes');
  const waiting = async (): Promise<number> =>
    (await readdir(weir.folder)).filter((name) => name.startsWith(`.weir.toml.lock.${weir.pid}.`))
      .length;
  const duringEdit = async (round: number, known: Record<string, string>): Promise<Reply> => {
    const edit = await lockEdited(configFile(weir), {});
    const pick = client.pick('default', 'b', known);
    await eventually('the pick to wait', async () => (await waiting()) > 0);
    await editConfig(weir, (text) => `${text}# by a command, ${round}\n`);
    await edit?.[Symbol.asyncDispose]();
    return pick;
  };
  const stale = await duringEdit(1, { 'if-match': headers['etag'] ?? '' });
  const commands = await readConfig(weir);
  assert.deepEqual([stale.status, stale.headers['etag']], [409, etagOf(commands)]);
  assert.doesNotMatch(commands, /default = "b"/);
  for (const known of [{}, { 'if-match': '*' }]) {
    const { status, headers: after } = await duringEdit(2, known);
    const text = await readConfig(weir);
    assert.deepEqual([status, after['etag']], [200, etagOf(text)]);
    assert.match(text, /# by a command, 1\n.*# by a command, 2\n/s);
    assert.match(text, /default = "b"/);
    await editConfig(weir, (changed) => changed.replace('default = "b"', 'default = "a"'));
  }
});

test('a file that is edited by hand while picks are written is always whole', async () => {
  await using running = await start(`${socksIn()}${freedom('a')}${freedom('b')}${api()}`);
  const { weir, client } = running;
  await client.pick('default', 'a');
  for (let round = 0; round < 15; round++) {
    const edited = `${await readConfig(weir)}# edit ${round}\n`;
    const pick = client.pick('default', round % 2 === 0 ? 'b' : 'a');
    await sleep(round % 5);
    await writeFile(`${configFile(weir)}.new`, edited);
    await rename(`${configFile(weir)}.new`, configFile(weir));
    const { status, headers } = await pick;
    assert.ok(status === 200 || status === 409, String(status));
    const now = await readConfig(weir);
    if (status === 409) assert.equal(headers['etag'], etagOf(now));
    assert.match(now, /^\[\[inbound\]\][^]*default = "[ab]"\n(# edit \d+\n)*$/);
    assert.equal((await client.get('/v1/routes')).status, 200);
  }
});

test('a client that disconnects before its pick is written changes nothing or all, and the next pick works', async () => {
  await using running = await start(`${socksIn()}${freedom('a')}${freedom('b')}${api()}`);
  const { weir, client } = running;
  await client.pick('default', 'a');
  const before = await readConfig(weir);
  const body = '{"target":"b"}';
  for (let round = 0; round < 10; round++) {
    const socket = await client.connect();
    socket.write(
      `PUT /v1/routes/default HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await sleep(round);
    socket.destroy();
    assert.equal((await client.pick('default', 'a')).status, 200);
    assert.equal(await readConfig(weir), before);
  }
  assert.deepEqual(
    (await readdir(weir.folder)).filter((name) => name.endsWith('.tmp')),
    [],
  );
  assert.doesNotMatch(weir.child.stderr, /ERROR/);
});
