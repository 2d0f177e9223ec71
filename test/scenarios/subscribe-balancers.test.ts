import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { socksConnect } from '../support/peers/socks-client.ts';
import { SocksServer } from '../support/peers/socks-server.ts';
import { socksIn } from '../support/process/config.ts';
import { Download, ownAddress, streamOrigin } from '../support/process/load.ts';
import { runWeir, Weir } from '../support/process/weir.ts';
import { subscribe } from '../support/subscribe/command.ts';
import { startProvider, type Answer } from '../support/subscribe/provider.ts';

/** A Clash file whose default is a test of all of its nodes. */
const clash =
  (nodes: Readonly<Record<string, { host: string; port: number }>>): Answer =>
  (response) => {
    const proxies = Object.entries(nodes).map(
      ([name, { host, port }]) =>
        `- {name: ${name}, type: socks5, server: ${host}, port: ${port}}\n`,
    );
    const group = `{name: Auto, type: url-test, url: http://x/, interval: 300, proxies: [${Object.keys(nodes).join(', ')}]}`;
    response.end(`proxies:\n${proxies.join('')}proxy-groups:\n- ${group}\nrules: ["MATCH,Auto"]\n`);
  };

test('a group of an imported list follows the subscription in the running Weir, under a live flow', async () => {
  await using one = await SocksServer.start();
  await using two = await SocksServer.start();
  await using origin = await streamOrigin();
  await using provider = await startProvider(clash({ a: one.address }));
  await using weir = await Weir.start(
    `${socksIn()}[[outbound]]\ntag = "o"\nprotocol = "freedom"\n`,
    {
      control: true,
    },
  );
  const imported = await runWeir(['import', provider.url, '--output', weir.folder, '--force']);
  assert.equal(imported.ended?.code, 0, imported.stderr);
  const file = join(weir.folder, 'weir.toml');
  // The listeners of the test in place of those of the list.
  const api = `[api]\nlisten = "${join(weir.folder, 'api.sock')}"\n`;
  const made = (await readFile(file, 'utf8')).replace(
    /\[\[inbound\]\][^]*?(?=\[subscribe\])/,
    socksIn() + api,
  );
  assert.doesNotMatch(made, /probe_interval/);
  await writeFile(file, made);
  const common = ['--config', file, '--socket', weir.controlPath];
  assert.equal((await runWeir(['reload', weir.controlPath])).ended?.code, 0);

  const added = await subscribe('add', 'home', provider.url, ...common);
  assert.deepEqual([added.code, added.out], [0, 'home: =1\n'], added.err);
  assert.doesNotMatch(added.err, /nodes alone are taken/);
  assert.match(await readFile(file, 'utf8'), /^# follows: home; group: "Auto"; filter: "\."$/m);
  const host = ownAddress();
  const target = { host, port: origin.port };
  using download = new Download(await socksConnect(weir.address('socks'), target), host);
  await download.round(1000);
  assert.deepEqual([one.targets.length, two.targets.length], [1, 0]);

  provider.answer = clash({ b: two.address });
  const updated = await subscribe('update', '--verbose', ...common);
  assert.deepEqual(
    [updated.code, updated.out],
    [0, 'home: +1 −1 =0\n  + b\n  − a\nhome: balancer "Auto" +1 −1\n  + b\n  − a\n'],
    updated.err,
  );
  assert.match(
    updated.err,
    /subscribe update: home \+1 −1 =0, balancer "Auto" \+1 −1, by .*: written; applied/,
  );
  await download.round(1000);
  (await socksConnect(weir.address('socks'), target)).destroy();
  assert.deepEqual([one.targets.length, two.targets.length], [1, 1]);

  // An edit by the API leaves the marker, and a second update changes nothing.
  const picked = await runWeir(['ctl', 'pick', 'default', 'b', '--socket', weir.controlPath]);
  assert.equal(picked.ended?.code, 0, picked.stderr);
  assert.match(
    await readFile(file, 'utf8'),
    /^# follows: home; [^\n]*\n\[\[balancer\]\]\ntag = "Auto"\noutbounds = \["b"\]$/m,
  );
  const before = await readFile(file, 'utf8');
  assert.equal((await subscribe('update', ...common)).out, 'home: =1\n');
  assert.equal(await readFile(file, 'utf8'), before);
  await download.round(1000);
});
