import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hostPort } from '../support/data/address.ts';
import { webServer } from '../support/peers/servers.ts';
import { runWeir, scratch, Weir } from '../support/process/weir.ts';
import { curl } from '../support/programs/curl.ts';
import { SharingServer } from '../support/share/running-server.ts';
import { GRPC_TLS, TLS, WS_TLS, type Way } from '../support/ways/way.ts';

const WAYS: readonly Way[] = [
  { protocol: 'vless', carrier: WS_TLS },
  { protocol: 'vmess', carrier: GRPC_TLS },
  { protocol: 'trojan', carrier: TLS },
  { protocol: 'shadowsocks', cipher: 'chacha20-ietf-poly1305' },
  { protocol: 'shadowsocks', cipher: '2022-blake3-aes-128-gcm', users: true },
  { protocol: 'hysteria2', obfuscated: true },
  { protocol: 'socks', login: true },
];

test('clients made by weir import of what weir share prints reach a page', async () => {
  await using server = await SharingServer.start(WAYS);
  await using origin = await webServer();
  await using folder = await scratch();
  const links = await server.share('--insecure');
  const file = join(folder.path, 'links.txt');
  writeFileSync(file, links);
  const imported = await runWeir(['import', file]);
  assert.equal(imported.ended?.code, 0, imported.stderr);
  const outbounds = imported.stdout.slice(imported.stdout.indexOf('[[outbound]]'));
  const tags = Array.from(outbounds.matchAll(/^tag = "(.*)"$/gm), ([, tag = '']) => tag);
  // VLESS, VMess and the second way of Shadowsocks have two users.
  assert.equal(tags.length, WAYS.length + 3);
  const ways = tags.map(
    (tag, index) =>
      `[[inbound]]\ntag = "to-${index}"\nprotocol = "socks"\nport = 0\n[[route.rule]]\ninbound_tag = ["to-${index}"]\noutbound = "${tag}"\n`,
  );
  await using client = await Weir.start(ways.join('') + outbounds);
  for (const [index, tag] of tags.entries()) {
    const proxy = `socks5h://${hostPort(client.address(`to-${index}`))}`;
    const url = `http://${origin.host}:${origin.port}/bytes/1000`;
    const { code, stderr, body } = await curl(['--proxy', proxy, url]);
    assert.equal(code, 0, `${tag}: ${stderr}\n${client.child.stderr}`);
    assert.equal(body.bytes, 1000, tag);
  }
});

const CONFIG = `
[[inbound]]
tag = "trojan"
protocol = "trojan"
listen = "::"
port = 8443
settings = { users = [{ password = "secret-of-ann", email = "ann\\u001b[31m" }, { password = "secret-of-bob", email = "bob" }] }
[[inbound]]
tag = "local"
protocol = "socks"
port = 1080
[[outbound]]
tag = "direct"
protocol = "freedom"
`;

test('weir share chooses users, notes what it leaves out, and writes a file for its owner', async () => {
  await using folder = await scratch();
  const config = join(folder.path, 'weir.toml');
  writeFileSync(config, CONFIG);
  const share = (...more: readonly string[]) =>
    runWeir(['share', '--config', config, '--host', 'Proxy.Example.com.', ...more]);
  const link =
    'trojan://secret-of-bob@proxy.example.com:8443?security=none&type=tcp#proxy.example.com%20trojan%20bob\n';
  const bob = await share('--user', 'bob');
  assert.equal(bob.stdout, link);
  assert.match(
    bob.stderr,
    /^weir share: inbound "local" was left out: it listens on 127\.0\.0\.1 alone, .*--port.*\n$/,
  );
  const unknown = await share('--user', 'bop');
  assert.equal(unknown.ended?.code, 1);
  assert.match(unknown.stderr, /no user has the name "bop"; did you mean "bob"\?/);
  const none = await share('--inbound', 'local');
  assert.deepEqual([none.ended?.code, none.stdout], [1, '']);
  assert.match(none.stderr, /there is nothing to share\n$/);

  const drawing = join(folder.path, 'codes.svg');
  const many = await share('--inbound', 'trojan', '--qr', 'svg', '--output', drawing);
  assert.match(
    many.stderr,
    /there are 2 links, and a drawing holds one: choose it by --inbound and --user/,
  );
  const one = await share('--user', 'bob', '--qr', 'svg', '--output', drawing);
  assert.deepEqual([one.ended?.code, one.stdout], [0, '']);
  assert.match(readFileSync(drawing, 'utf8'), /^<svg .*<\/svg>\n$/s);
  assert.equal(statSync(drawing).mode & 0o777, 0o600);

  const json = JSON.parse((await share('--inbound', 'trojan', '--json')).stdout) as {
    readonly user: string;
    readonly link: string;
  }[];
  assert.deepEqual(
    json.map(({ user }) => user),
    ['ann\u001b[31m', 'bob'],
  );
  for (const form of ['sing-box', 'weir']) {
    const { stdout, stderr } = await share('--inbound', 'trojan', '--form', form);
    assert.match(stdout, /secret-of-ann/, stderr);
    assert.ok(!(stdout + stderr).includes('\u001b'), form);
    assert.doesNotMatch(stderr, /secret-of/);
  }
});

test('weir share names what is wrong with a configuration', async () => {
  await using folder = await scratch();
  const config = join(folder.path, 'weir.toml');
  writeFileSync(config, CONFIG.replace('port = 8443', 'port = 84430'));
  const { ended, stdout, stderr } = await runWeir([
    'share',
    `--config=${config}`,
    '--host=proxy.example.com',
  ]);
  assert.deepEqual([ended?.code, stdout], [1, '']);
  assert.match(stderr, /configuration invalid: /);
});
