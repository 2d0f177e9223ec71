import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { SocksServer } from '../support/peers/socks-server.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { Download, ownAddress, streamOrigin } from '../support/process/load.ts';
import { runWeir, Weir } from '../support/process/weir.ts';
import { subscribe } from '../support/subscribe/command.ts';
import { endless, startProvider, type Answer } from '../support/subscribe/provider.ts';

const send =
  (body: string | Buffer, headers: Readonly<Record<string, string>> = {}, status = 200): Answer =>
  (response) =>
    void response.writeHead(status, headers).end(body);

const link = ({ host, port }: { host: string; port: number }, name: string, login = ''): string =>
  `socks://${login}${host}:${port}#${encodeURIComponent(name)}`;

/** The one that is known by the time limit alone. */
const SILENCE = 'silence';

/** Answers that change nothing, and the cause that is told. */
const REFUSED: readonly (readonly [what: string, answer: Answer, cause: RegExp])[] = [
  ['an error', send('no', {}, 500), /status 500/],
  [
    'a login page',
    send('<!doctype html><title>Log \u001b[31min</title>'),
    /web page with the title "Log \\u001b/,
  ],
  ['nothing', send(''), /the answer is empty/],
  ['bytes', send(Buffer.from([0xff, 0xfe, 0])), /invalid UTF-8/],
  ['a captcha in JSON', send('{"captcha":true}'), /not a list of nodes/],
  ['an expired account', send('trojan://p@s.provider.net:443#Expired'), /only messages: "Expired"/],
  ['placeholders', send('trojan://p@0.0.0.0:443#A\ntrojan://p@a.provider.net:1#B'), /placeholder/],
  ['most nodes gone', send('trojan://p@a.provider.net:443#A'), /only 1 of 3 nodes would be left/],
  ['an endless answer', endless(Buffer.alloc(65_536, 'a')), /more than 4194304 bytes/],
  ['100 MB', send('', { 'content-length': String(100 << 20) }), /more than 4194304 bytes/],
  [
    'half an answer',
    (response) => {
      response
        .writeHead(200, { 'content-length': '1000' })
        .write('trojan://p@a.provider.net:443#A\n');
      response.socket?.end();
    },
    /before the response was complete/,
  ],
  [
    'Brotli, which is not asked for',
    send(brotliCompressSync('trojan://p@a.provider.net:443#A'), { 'content-encoding': 'br' }),
    /the body has the content coding br, which was not asked for/,
  ],
  ['broken gzip', send('abc', { 'content-encoding': 'gzip' }), /compressed body is invalid/],
  [SILENCE, () => undefined, /1 s|time/],
  ['a redirect to a file', send('', { location: 'file:///etc/passwd' }, 302), /redirects to file:/],
  ['a redirect to itself', send('', { location: '/sub' }, 302), /more than 5 redirections/],
  [
    'YAML that expands',
    send(
      `a: &a [${'x,'.repeat(99)}x]\nb: &b [${'*a,'.repeat(99)}*a]\n` +
        `c: &c [${'*b,'.repeat(99)}*b]\nproxies: [*c,*c]\n`,
    ),
    /too many aliases/,
  ],
  ['nested YAML', send(`proxies: ${'['.repeat(2000)}`), /YAML|nested/],
  ['a reset', (response) => void response.socket?.resetAndDestroy(), /complete|reset/i],
];

test('an update whose reload is never answered says that the nodes are written', async () => {
  let count = 0;
  await using provider = await startProvider((response) =>
    response.end(
      Array.from({ length: ++count }, (_, n) => `socks://127.0.0.1:${1000 + n}#n${n}`).join('\n'),
    ),
  );
  await using weir = await Weir.start(`${socksIn()}${freedom()}`, { control: true });
  const config = join(weir.folder, 'weir.toml');
  const common = ['--config', config, '--socket', weir.controlPath];
  assert.equal((await subscribe('add', 'home', provider.url, ...common)).code, 0);
  // The Weir behind this socket ends when it is asked for a reload.
  const path = join(weir.folder, 'dying.sock');
  await using dying = createServer((client) => {
    client
      .on('error', () => undefined)
      .once('data', (request: Buffer) => {
        if (/^(POST \/control\/)?reload /.test(String(request))) return client.destroy();
        const real = connect({ path: weir.controlPath }).on('error', () => client.destroy());
        real.write(request);
        return real.pipe(client);
      });
  }).listen(path);
  await once(dying, 'listening');
  const { code, out, err } = await subscribe('update', '--config', config, '--socket', path);
  assert.deepEqual([code, out], [1, 'home: +1 =1\n']);
  assert.match(
    err,
    /^weir subscribe: home: its nodes are written: .*whether it was reloaded is unknown/m,
  );
  assert.doesNotMatch(err, /refused|stay as they are/);
  assert.match(await readFile(join(weir.folder, 'nodes.toml'), 'utf8'), /name = "n1"/);
});

test('updates change nodes under a live flow, and refused answers change nothing', async () => {
  await using one = await SocksServer.start();
  await using two = await SocksServer.start();
  await using three = await SocksServer.start();
  await using origin = await streamOrigin();
  const list = (names: readonly string[]): string =>
    [one, two, three].map((server, index) => link(server.address, names[index] ?? '')).join('\n');
  await using provider = await startProvider(
    send(list(['One', 'Two', 'Three']), { 'subscription-userinfo': 'download=1; total=100' }),
  );
  const config = `${socksIn()}${freedom('own')}# mine\n`;
  await using weir = await Weir.start(config, { control: true });
  const file = join(weir.folder, 'weir.toml');
  const nodesFile = join(weir.folder, 'nodes.toml');
  const common = ['--config', file, '--socket', weir.controlPath];

  const added = await subscribe('add', 'home', provider.url, ...common);
  assert.deepEqual([added.code, added.out], [0, 'home: +3 =0\n'], added.err);
  assert.match(
    added.err,
    /subscribe add: home \+3 =0, by .*: written; applied, built outbound One/,
  );
  const edited = / INFO .*edited: subscribe add: home \+3 =0/;
  await weir.child.until('the cause', ({ stderr }) => edited.test(stderr) || undefined);
  assert.doesNotMatch(weir.child.stderr + added.err, /hidden-secret/);

  // A flow through a node of the subscription, picked in the configuration.
  await writeFile(file, `${await readFile(file, 'utf8')}[subscribe.routes]\ndefault = "One"\n`);
  assert.equal((await runWeir(['reload', weir.controlPath])).ended?.code, 0);
  const host = ownAddress();
  const target = { host, port: origin.port };
  using download = new Download(await socksConnect(weir.address('socks'), target), host);
  await download.round(1000);
  assert.equal(one.targets.length, 1);

  const before = { nodes: await readFile(nodesFile, 'utf8'), config: await readFile(file, 'utf8') };
  const sourcesFile = join(weir.folder, 'nodes.sources.toml');
  const sources = await readFile(sourcesFile, 'utf8');
  for (const [what, answer, cause] of REFUSED) {
    provider.answer = answer;
    // Whatever else is answered may take its time.
    await writeFile(sourcesFile, what === SILENCE ? `${sources}timeout = 1\n` : sources);
    const refused = await subscribe('update', ...common);
    assert.deepEqual([refused.code, refused.out], [1, ''], what);
    assert.match(refused.err, cause, what);
    // oxlint-disable-next-line no-control-regex -- which is what must not be there
    assert.doesNotMatch(refused.err, /hidden-secret|\u001b/, what);
    assert.equal(await readFile(nodesFile, 'utf8'), before.nodes, what);
    await download.round(1000);
  }
  assert.match((await subscribe('list', '--config', file)).out, /home +127\.0\.0\.1:\d+ +3 /);

  // The picked node is renamed, another is gone, and one is new: the flow and its pick stay.
  provider.answer = send(
    [
      link(one.address, 'Uno \u001b[1m'),
      link(two.address, 'Two'),
      link(two.address, 'New', 'u:p@'),
    ].join('\n'),
    { 'subscription-userinfo': 'download=2; total=100' },
  );
  const updated = await subscribe('update', '--verbose', ...common);
  assert.deepEqual(
    [updated.code, updated.out],
    [0, 'home: +1 −1 =2\n  + New\n  − Three\n'],
    updated.err,
  );
  assert.match(
    updated.err,
    /applied, built outbound New@v1; ends with its last flow: outbound Three@v1; \d+ unchanged$/m,
  );
  await download.round(1000);

  // Through the running Weir: the request of the provider comes from its outbound.
  const through = ['--outbound', 'Two', '--dry-run', ...common];
  const dry = await subscribe('add', 'again', provider.url, ...through);
  assert.deepEqual([dry.code, dry.out], [0, 'again: +3 =0\n'], dry.err);
  assert.equal(two.targets.length, 1);

  // Gone while it is picked: kept, and told.
  provider.answer = send([link(two.address, 'Two'), link(two.address, 'New', 'u:p@')].join('\n'));
  const kept = await subscribe('update', ...common);
  assert.deepEqual([kept.code, kept.out], [0, 'home: =2, 1 kept\n'], kept.err);
  assert.match(kept.err, /kept although gone from the source, because they are in use: "One"/);
  assert.match(
    await readFile(nodesFile, 'utf8'),
    /^# source: home; kept: in use.*\n.*\nname = "One"$/m,
  );
  await download.round(1000);
  const socket = await socksConnect(weir.address('socks'), target);
  socket.destroy();
  assert.equal(one.targets.length, 2);
  assert.equal(await readFile(file, 'utf8'), before.config);

  // Picked no more, it goes with the next update; its flow goes on.
  await writeFile(file, before.config.replace('"One"', '"Two"'));
  assert.equal((await subscribe('update', ...common)).out, 'home: −1 =2\n');
  await download.round(1000);

  const refusedRemoval = await subscribe('remove', 'home', ...common);
  assert.equal(refusedRemoval.code, 1);
  assert.match(refusedRemoval.err, /nodes of home are in use: "Two"/);
  await writeFile(file, before.config.replace('"One"', '"own"'));
  assert.deepEqual((await subscribe('remove', 'home', ...common)).out, 'home: −2\n');
  await download.round(1000);
});
