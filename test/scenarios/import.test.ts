import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
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

test('weir import says why a file gives nothing', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'links.txt');
  const run = async (): Promise<readonly unknown[]> => {
    const { ended, stdout, stderr } = await runWeir(['import', '--outbounds', file]);
    return [ended?.code, stdout, stderr];
  };
  assert.match(String((await run())[2]), /^weir import: cannot read the file: ENOENT/);
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
  assert.match(imported.stdout, /^\[\[proxy_server\]\]\nname = "home"\n/);
  writeFileSync(path('nodes.toml'), imported.stdout);
  writeFileSync(
    path('weir.toml'),
    '[subscribe]\npath = "nodes.toml"\n[subscribe.routes]\ndefault = "home 2"\n',
  );
  const checked = await runWeir(['--test', '--config', path('weir.toml')]);
  assert.equal(checked.stdout, 'Configuration OK.\n', checked.stderr);
});
