import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ImportReport } from '@weir/nodes/import';
import { scratch, runWeir } from '../support/process/weir.ts';

const LINKS = [
  'trojan://correct%20horse@192.0.2.1:443?sni=example.com#home',
  'vless://b831381d-6324-4d53-ad4f-8cda48b30811@192.0.2.1:443?security=reality#far',
  'vless://nonsense@192.0.2.1:443#typo',
  'socks5://192.0.2.1:1080#home',
].join('\n');

test('weir import prints a configuration that weir accepts, and says what it has left out', async () => {
  await using folder = await scratch();
  const [links, config] = [join(folder.path, 'links.txt'), join(folder.path, 'weir.toml')];
  writeFileSync(links, LINKS);
  const imported = await runWeir(['import', links]);
  assert.equal(imported.ended?.code, 0, imported.stderr);
  assert.deepEqual(imported.stderr.trimEnd().split('\n'), [
    'weir import: "far" was left out: the security "reality" is not supported',
    'weir import: "typo" was left out: outbound typo: invalid settings: invalid uuid',
    'weir import: 2 outbounds from share links',
  ]);
  assert.match(imported.stdout, /tag = "home"\n(?:.|\n)*tag = "home 2"\n/);
  writeFileSync(config, imported.stdout);
  assert.equal((await runWeir(['--test', '--config', config])).stdout, 'Configuration OK.\n');
});

test('weir import reads a file in UTF-16, as shells of Windows write one', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'links.txt');
  writeFileSync(file, Buffer.from(`\uFEFF${LINKS.replaceAll('\n', '\r\n')}\r\n`, 'utf16le'));
  const { ended, stdout, stderr } = await runWeir(['import', '--outbounds', file]);
  assert.equal(ended?.code, 0, stderr);
  assert.match(stdout, /name = "home"\n(?:.|\n)*name = "home 2"\n/);
});

test('weir import says why a file gives nothing', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'links.txt');
  const run = async (): Promise<readonly unknown[]> => {
    const { ended, stdout, stderr } = await runWeir(['import', '--outbounds', file]);
    return [ended?.code, stdout, stderr];
  };
  assert.match(
    String((await run())[2]),
    /^weir import: cannot read \S+links\.txt: no such file or directory\n/,
  );
  writeFileSync(file, 'tuic://192.0.2.1:1#a');
  assert.match(String((await run())[2]), /^weir import: neither share links, nor JSON/);
  writeFileSync(file, 'socks5://192.0.2.1:0#a');
  assert.deepEqual(await run(), [
    1,
    '',
    'weir import: "a" was left out: its port is not a number up to 65535\n' +
      'weir import: no outbound could be made of share links\n',
  ]);
});

const SECRET_ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';

/** A document of sing-box whose first outbound cannot be imported, with names that control a terminal. */
const HOSTILE = JSON.stringify({
  log: {},
  outbounds: [
    {
      type: 'vless',
      tag: 'first\u001b[2J\u202e\n2026-11-20T12:27:48.123456Z  INFO svc_app: forged',
      server: 'a.example',
      server_port: 443,
      uuid: SECRET_ID,
      tls: { enabled: true, reality: { enabled: true } },
    },
    { type: 'direct', tag: 'direct' },
    {
      type: 'trojan',
      tag: 'second\u009b31m\u2066',
      server: 'b.example',
      server_port: 443,
      password: 'p\u009b\u202e',
      'key\u001b[31m\n': 'x',
    },
  ],
});

test('weir import drops flows, and fails, when the default of the document is left out', async () => {
  await using folder = await scratch();
  const [file, config] = [join(folder.path, 'sing-box.json'), join(folder.path, 'weir.toml')];
  writeFileSync(file, HOSTILE);
  const imported = await runWeir(['import', file]);
  assert.equal(imported.ended?.code, 1);
  assert.match(imported.stdout, /\n\[route\]\ndefault = "blackhole"\n/);
  assert.match(
    imported.stderr,
    /The default is "blackhole": flows that no rule matches are dropped/,
  );
  writeFileSync(config, imported.stdout);
  assert.equal((await runWeir(['--test', '--config', config])).stdout, 'Configuration OK.\n');
  const where = await runWeir(['explain', '--config', config, 'example.com:443']);
  assert.match(where.stdout, /blackhole/);
  const forced = await runWeir(['import', '--force', file]);
  assert.equal(forced.ended?.code, 0);
  assert.equal(forced.stdout, imported.stdout);
});

test('weir import shows names and keys of the document escaped, on lines of their own', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'sing-box.json');
  writeFileSync(file, HOSTILE);
  const { stdout, stderr } = await runWeir(['import', file]);
  for (const text of [stdout, stderr]) {
    assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\p{Cf}]/u);
    assert.doesNotMatch(text, /^2026/m);
  }
  for (const line of stderr.trimEnd().split('\n')) assert.match(line, /^weir import: /);
});

test('weir import --outbounds prints nodes that a subscribe file takes', async () => {
  await using folder = await scratch();
  const path = (name: string): string => join(folder.path, name);
  writeFileSync(path('links.txt'), `${LINKS}\n`);
  const imported = await runWeir(['import', '--outbounds', path('links.txt')]);
  assert.equal(imported.ended?.code, 0, imported.stderr);
  assert.match(imported.stdout, /^# source: \(import\)\n\[\[proxy_server\]\]\nname = "home"\n/);
  writeFileSync(path('nodes.toml'), imported.stdout);
  writeFileSync(
    path('weir.toml'),
    '[subscribe]\npath = "nodes.toml"\n[subscribe.routes]\ndefault = "home 2"\n',
  );
  const checked = await runWeir(['--test', '--config', path('weir.toml')]);
  assert.equal(checked.stdout, 'Configuration OK.\n', checked.stderr);
});

const CLASH = `socks-port: 1080
proxies:
  - {name: a, type: socks5, server: a.example, port: 1}
proxy-groups:
  - {name: Proxy, type: select, proxies: [a, DIRECT]}
rules: ["DOMAIN,x.example,Proxy", "PROCESS-NAME,y,DIRECT", "MATCH,Proxy"]
`;

test('weir import --output writes both files, and replaces none without --force', async () => {
  await using folder = await scratch();
  const [file, out] = [join(folder.path, 'clash.yaml'), join(folder.path, 'weir')];
  writeFileSync(file, CLASH);
  const first = await runWeir(['import', '--output', out, file]);
  assert.equal(first.ended?.code, 0, first.stderr);
  assert.equal(first.stdout, '');
  assert.equal(statSync(join(out, 'nodes.toml')).mode & 0o777, 0o600);
  const config = join(out, 'weir.toml');
  assert.equal((await runWeir(['--test', '--config', config])).stdout, 'Configuration OK.\n');
  writeFileSync(config, '# mine\n');
  const second = await runWeir(['import', '--output', out, file]);
  assert.equal(second.ended?.code, 1);
  assert.match(second.stderr, /nodes\.toml exists; --force replaces it/);
  assert.equal(readFileSync(config, 'utf8'), '# mine\n');
  assert.equal((await runWeir(['import', '--force', '--output', out, file])).ended?.code, 0);
  assert.match(readFileSync(config, 'utf8'), /\[subscribe\.routes\]\ndefault = "a"\n/);
});

test('weir import reads a URL, and accounts for every part in JSON', async () => {
  await using server = createServer((request, response) => {
    response.statusCode = request.url === '/list?key=secret' ? 200 : 404;
    response.end(CLASH);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const args = ['import', '--subscribe', '--report', 'json', `${url}/list?key=secret`];
  const { ended, stdout, stderr } = await runWeir(args);
  assert.equal(ended?.code, 0, stderr);
  assert.match(stdout, /^\[\[proxy_server\]\]$/m);
  const { version, items } = JSON.parse(stderr) as ImportReport;
  assert.equal(version, 1);
  assert.deepEqual(
    items.map(({ part, status }) => `${part} ${status}`),
    [
      'server imported',
      'group imported',
      'rule imported',
      'rule skipped',
      'rule same',
      'default imported',
      'inbound skipped',
    ],
  );
  const missing = await runWeir(['import', `${url}/other?key=secret`]);
  assert.equal(missing.stderr, 'weir import: the server answered with status 404\n');
  assert.equal(missing.ended?.code, 1);
});
