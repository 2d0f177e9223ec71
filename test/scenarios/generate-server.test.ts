import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hostPort, portOf } from '../support/data/address.ts';
import { webServer } from '../support/peers/servers.ts';
import { runWeir, scratch, Weir } from '../support/process/weir.ts';
import { curl } from '../support/programs/curl.ts';

const PROTOCOLS = ['vless', 'hysteria2', 'trojan', 'vmess', 'shadowsocks', 'http'];

test('weir generate server makes a server and a client that work together over each protocol', async () => {
  await using folder = await scratch();
  const made = await runWeir([
    'generate',
    'server',
    `--protocol=${PROTOCOLS.join(',')}`,
    '--name=home',
    `--output=${folder.path}`,
  ]);
  assert.equal(made.ended?.code, 0, made.stderr);
  const path = (name: string): string => join(folder.path, `home.${name}`);
  const [server = '', client = ''] = ['server', 'client'].map((role) =>
    readFileSync(path(`${role}.toml`), 'utf8'),
  );
  for (const [name, mode] of [
    ['server.toml', 0o600],
    ['client.toml', 0o600],
    ['key.pem', 0o600],
    ['cert.pem', 0o644],
  ] as const) {
    assert.equal(statSync(path(name)).mode & 0o777, mode, name);
  }
  const inFolder = { wrap: ['env', '-C', folder.path] };
  for (const role of ['server', 'client']) {
    const checked = await runWeir(['--test', '--config', `home.${role}.toml`], inFolder);
    assert.equal(checked.stdout, 'Configuration OK.\n');
    assert.equal(checked.stderr, '', role);
  }

  const shared = await runWeir(
    ['share', '--host=127.0.0.1', '--config=home.server.toml', '--user=user1'],
    inFolder,
  );
  const withoutNames = (text: string): readonly string[] =>
    Array.from(text.matchAll(/\b(?!vmess)\w+:\/\/\S+(?=#)/g), ([link]) => link);
  assert.equal(shared.stdout.trimEnd().split('\n').length, PROTOCOLS.length);
  assert.equal(withoutNames(shared.stdout).length, PROTOCOLS.length - 1);
  assert.deepEqual(withoutNames(shared.stdout), withoutNames(client));

  await using origin = await webServer();
  await using running = await Weir.start(server.replaceAll(/^port = \d+/gm, 'port = 0'), inFolder);
  // The API is on a unix socket beside the file, which is for the user of the server alone.
  const socket = path('server.api.sock');
  assert.equal(statSync(socket).mode & 0o777, 0o600);
  const asked = await runWeir(['ctl', 'version', '--api', socket]);
  assert.match(asked.stdout, /"version":/);
  const ways = PROTOCOLS.map(
    (tag) =>
      `[[inbound]]\ntag = "to-${tag}"\nprotocol = "socks"\nport = 0\n[[route.rule]]\ninbound_tag = ["to-${tag}"]\noutbound = "${tag}"\n`,
  );
  const reached = client
    .replaceAll(/^port = (?:1080|8080)$/gm, 'port = 0')
    .replace('"127.0.0.1:9090"', '"127.0.0.1:0"')
    .replaceAll(
      /^(\[\[outbound\]\]\ntag = "(\w+)"\n(?:.*\n){2})port = \d+$/gm,
      (_, before: string, tag: string) => `${before}port = ${portOf(running.address(tag))}`,
    );
  await using dialling = await Weir.start(reached + ways.join(''), inFolder);
  for (const tag of PROTOCOLS) {
    const proxy = `socks5h://${hostPort(dialling.address(`to-${tag}`))}`;
    const url = `http://${origin.host}:${origin.port}/bytes/1000`;
    const { code, stderr, body } = await curl(['--proxy', proxy, url]);
    assert.equal(code, 0, `${tag}: ${stderr}\n${dialling.child.stderr}\n${running.child.stderr}`);
    assert.equal(body.bytes, 1000, tag);
  }
});

test('weir generate keeps files that exist, all of them, unless it is told otherwise', async () => {
  await using folder = await scratch();
  const generate = (...more: readonly string[]) =>
    runWeir([
      'generate',
      'server',
      '--protocol=shadowsocks',
      '--host=proxy.example.com',
      '--name=away',
      `--output=${folder.path}`,
      ...more,
    ]);
  const read = (): string => readFileSync(join(folder.path, 'away.server.toml'), 'utf8');
  assert.equal((await generate()).ended?.code, 0);
  const first = read();
  assert.match(first, /listen = "::".*\nport = 8388/);
  assert.match(first, /\noutbound = "blackhole"\ncidr = \[/);
  for (const host of ['127.0.0.1', 'localhost', 'metadata.internal', '[::ffff:10.0.0.1]']) {
    const { stdout } = await runWeir([
      'explain',
      `${host}:80`,
      `--config=${join(folder.path, 'away.server.toml')}`,
    ]);
    assert.match(stdout, /\noutbound +blackhole\n/, host);
  }
  const again = await generate();
  assert.equal(again.ended?.code, 1);
  assert.equal(
    again.stderr,
    `weir generate: ${join(folder.path, 'away.server.toml')} exists; --force replaces it\n`,
  );
  assert.equal(read(), first);
  const forced = await generate('--force', '--json');
  assert.notEqual(read(), first);
  const { files, links } = JSON.parse(forced.stdout) as { files: string[]; links: string[] };
  assert.deepEqual(
    files.map((file) => file.replace(folder.path, '')),
    ['/away.server.toml', '/away.client.toml'],
  );
  assert.match(links[0] ?? '', /^ss:\/\/2022-blake3-aes-128-gcm:[^@]+@proxy\.example\.com:8388#/);
});
