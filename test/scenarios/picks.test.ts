import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ApiClient } from '../../packages/server/test/conformance/api-client.ts';
import { parseAddress } from '../support/data/address.ts';
import { isTemporaryName } from '../../packages/server/src/app/replace-file.ts';
import { freedom, httpIn, proxyOut, socksIn } from '../support/process/config.ts';
import { API, Control, errorOf, type Report, etagOf } from '../support/process/control.ts';
import { Download, ownAddress, streamOrigin } from '../support/process/load.ts';
import { recorder } from '../support/peers/recorder.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { SocksServer } from '../support/peers/socks-server.ts';
import { readAll } from '../support/read.ts';
import { eventually } from '../support/wait.ts';
import { Weir, weirCommand } from '../support/process/weir.ts';

const node = (name: string, { host, port }: { host: string; port: number }): string =>
  `[[proxy_server]]\nname = "${name}"\nprotocol = "socks"\nserver = "${host}"\nport = ${port}\n`;

/** The lock that an edit holds, the one under which a stale one is removed, and what they are made of. */
const LOCK = /^\.weir\.toml\.lock(\.stale)*(\.\d+\.\d+)?$/;

const GROUPS = `
[[route_group]]
name = "Video Streaming"
[[route_group.rule]]
domain_suffix = ["video.example"]

[[route_group]]
name = "News"
inherit = { group = "Video Streaming" }
[[route_group.rule]]
domain_suffix = ["news.example"]
`;

test('a pick moves new flows of its group, and no flow that is open', async () => {
  await using one = await SocksServer.start();
  await using two = await recorder('two');
  await using origin = await streamOrigin();
  // Only the address that a flow is opened to belongs to one of them.
  const host = ownAddress();
  const groups = GROUPS.replace('domain_suffix = ["video.example"]', `cidr = ["${host}"]`);
  const config = `${API}${socksIn()}${freedom('own')}\n[subscribe]\npath = "sub.toml" # the file\n\n[subscribe.routes]\n"Video Streaming" = 'One' # as it was\n`;
  const subscribe = node('One', one.address) + node('Two', two.target) + groups;
  await using weir = await Weir.start(config, { files: { 'sub.toml': subscribe } });
  const control = await Control.of(weir);
  const { api } = control;

  const routes = await api.get('/v1/routes');
  const etag = routes.headers['etag'] ?? '';
  assert.equal(etag, etagOf(await readFile(control.file, 'utf8')));
  const view = JSON.parse(routes.text) as unknown;
  assert.deepEqual(view, {
    default: { pick: null, target: 'own' },
    groups: [
      { name: 'Video Streaming', pick: 'One', inherit: 'default', target: 'One' },
      { name: 'News', pick: null, inherit: { group: 'Video Streaming' }, target: 'One' },
    ],
    targets: [
      { name: 'own', kind: 'outbound' },
      { name: 'One', kind: 'node' },
      { name: 'Two', kind: 'node' },
      { name: 'direct', kind: 'direct' },
      { name: 'blackhole', kind: 'blackhole' },
    ],
  });

  const proxy = weir.address('socks');
  const target = { host, port: origin.port };
  const download = new Download(await socksConnect(proxy, target), host);
  await download.round(1000);
  assert.equal(one.targets.length, 1);

  const before = await readFile(control.file, 'utf8');
  const put = await api.pick('Video Streaming', 'Two', { 'if-match': etag });
  assert.equal(put.status, 200, put.text);
  const after = await readFile(control.file, 'utf8');
  assert.equal(after, before.replace(`'One' # as it was`, '"Two" # as it was'));
  assert.equal(put.headers['etag'], etagOf(after));
  const report = JSON.parse(put.text) as Report;
  assert.deepEqual(
    [report.status, report.built, report.drained, report.swapped, report.removed],
    ['applied', ['route'], [], [], []],
  );
  assert.deepEqual(report.reused, [
    'dns',
    'outbound own@v1',
    'outbound One@v1',
    'outbound Two@v1',
    'inbound socks',
  ]);

  // New flows of the group and of its heir take the new way, the open one stays on its own.
  for (const where of [host, 'www.news.example']) {
    const socket = await socksConnect(proxy, { host: where, port: origin.port });
    assert.equal(String((await readAll(socket)).data), 'two');
    socket.destroy();
  }
  await download.round(1000);
  const [flow] = await control.flowsTo(host);
  assert.deepEqual([flow?.outbound, flow?.plane_epoch, flow?.rule], ['One', 1, 0]);

  // The same again changes nothing; an old tag gets the new one in its response and can continue from there.
  const again = await api.pick('Video Streaming', 'Two');
  assert.deepEqual([again.status, JSON.parse(again.text)], [200, { status: 'unchanged' }]);
  const stale = await api.pick('Video Streaming', 'One', { 'if-match': etag });
  assert.deepEqual(
    [stale.status, stale.headers['etag'], errorOf(stale)],
    [
      409,
      etagOf(after),
      `the config file has changed since it was read; its ETag is now ${etagOf(after)}`,
    ],
  );
  assert.equal(await readFile(control.file, 'utf8'), after);

  // A built-in that nothing named so far is built, and removed with its last pick.
  const built = JSON.parse((await api.pick('News', 'direct')).text) as Report;
  assert.deepEqual(built.built, ['outbound direct@v1', 'route']);
  const gone = JSON.parse((await api.pick('News', 'One')).text) as Report;
  assert.deepEqual([gone.built, gone.drained], [['route'], ['direct@v1']]);
  const back = JSON.parse((await api.pick('News', 'direct')).text) as Report;
  assert.deepEqual(back.built, ['outbound direct@v2', 'route']);

  const unknown = await api.pick('Radio', 'One');
  assert.deepEqual([unknown.status, errorOf(unknown)], [404, 'no route group named "Radio"']);
  const nowhere = await api.pick('News', 'Three');
  assert.deepEqual(
    [nowhere.status, errorOf(nowhere)],
    [422, 'no node, outbound or balancer is named "Three"; the route view lists them'],
  );

  // The default route of all is a pick of its own: it is written to the same table.
  const routed = JSON.parse((await api.pick('default', 'Two')).text) as Report;
  assert.deepEqual(routed.built, ['route']);
  assert.match(await readFile(control.file, 'utf8'), /^default = "Two"$/m);
  const elsewhere = await socksConnect(proxy, { host: 'else.example', port: 80 });
  assert.equal(String((await readAll(elsewhere)).data), 'two');
  elsewhere.destroy();
  await download.end();
});

test('edits from two sides at once each apply or are refused as out of date', async () => {
  await using weir = await Weir.start(
    `${API}${socksIn()}${httpIn()}${freedom('a')}${freedom('b')}${freedom('c')}[route]\ndefault = "a"\n`,
  );
  const control = await Control.of(weir);
  const { headers } = await control.api.get('/v1/routes');
  const etag = headers['etag'] ?? '';
  const responses = await Promise.all(
    ['b', 'c', 'b', 'c'].map((target) => control.api.pick('default', target, { 'if-match': etag })),
  );
  const refused = responses.filter(({ status }) => status === 409);
  assert.equal(refused.length, responses.length - 1);
  const won = responses.find(({ status }) => status === 200);
  const text = await readFile(control.file, 'utf8');
  for (const response of responses) assert.equal(response.headers['etag'], etagOf(text));
  assert.equal((JSON.parse(won?.text ?? '') as Report).status, 'applied');

  // Without a condition each of many gets its turn, and the file is what the last one wrote.
  const free = await Promise.all(
    ['a', 'b', 'c', 'a', 'b', 'c', 'a'].map((target) => control.api.pick('default', target)),
  );
  assert.ok(free.every(({ status }) => status === 200));
  const { text: view } = await control.api.get('/v1/routes');
  const { default: route } = JSON.parse(view) as { default: { pick: string } };
  assert.match(await readFile(control.file, 'utf8'), new RegExp(`default = "${route.pick}"`));
});

test('a process that is killed while picks are written leaves the old file or the new one', async (t) => {
  await using up = await SocksServer.start();
  const folder = await mkdtemp(join(tmpdir(), 'weir-test-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'weir.toml');
  const config = (pick: string): string =>
    `# ${'x'.repeat(20_000)}\n${API}${socksIn()}${freedom('direct')}${proxyOut('up', 'socks', up.address)}[route]\ndefault = "${pick}"\n`;
  const wanted = new Set([config('direct'), config('up')]);
  await writeFile(file, config('direct'));
  const KILLS = 3;
  for (let kill = 0; kill < KILLS; kill++) {
    await using child = weirCommand(['run', '--config', file]);
    const address = await child.until('its API listens', ({ stderr }) => {
      const [, text] = /API listening on (\S+)/.exec(stderr) ?? [];
      return text;
    });
    const api = new ApiClient(parseAddress(address));
    let completed = 0;
    const picks = (async () => {
      for (; ; completed++) await api.pick('default', completed % 2 === 0 ? 'up' : 'direct');
    })().catch(() => undefined);
    // In the middle of one of the next, some requests after the last that was completed.
    await eventually('some picks', () => completed > kill);
    for (let i = 0; i < kill; i++) await api.get('/v1/health');
    child.signal('SIGKILL');
    await child.exited;
    await picks;
    const text = await readFile(file, 'utf8');
    assert.ok(wanted.has(text), `kill ${kill}: ${text.slice(20_000)}`);
    const rest = (await readdir(folder)).filter((name) => name !== 'weir.toml');
    assert.ok(
      rest.every((name) => isTemporaryName(name, 'weir.toml') || LOCK.test(name)),
      rest.join(),
    );
    for (const name of rest) await rm(join(folder, name));
  }
});
