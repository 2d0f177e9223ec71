import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hostPort, portOf } from '../support/data/address.ts';
import { blocksOf, page } from '../support/docs/pages.ts';
import { webServer } from '../support/peers/servers.ts';
import { TestAuthority } from '../support/data/test-certificates.ts';
import { runWeir, scratch, Weir } from '../support/process/weir.ts';
import { curl } from '../support/programs/curl.ts';

const [SERVER = '', CLIENT = ''] = blocksOf(page('docs/guides/vps.md'))
  .filter(({ language }) => language === 'toml')
  .map(({ text }) => text);

const LINKS = blocksOf(page('docs/guides/vps.md')).find(({ text }) => text.startsWith('vless://'));

const TAGS = ['vless', 'trojan', 'shadowsocks', 'hysteria'];

/** Ports of the kernel on loopback, and a destination on loopback that the guide's last rule would block. */
const onLoopback = (config: string, folder: string): string =>
  config
    .replaceAll(/^listen = "::".*$/gm, 'listen = "127.0.0.1"')
    .replaceAll(/^port = \d+.*$/gm, 'port = 0')
    .replaceAll('"/etc/weir/', `"${folder}/`)
    .replace('"127.0.0.0/8", ', '');

test('the server and the client of the VPS guide work together over each of the four protocols', async () => {
  const authority = new TestAuthority();
  const { cert, key } = authority.issue({ dns: ['proxy.example.com'] });
  await using origin = await webServer();
  await using folder = await scratch();
  writeFileSync(join(folder.path, 'cert.pem'), cert);
  writeFileSync(join(folder.path, 'key.pem'), key, { mode: 0o600 });
  writeFileSync(join(folder.path, 'ca.pem'), authority.cert);
  await using server = await Weir.start(onLoopback(SERVER, folder.path));
  const ca = JSON.stringify(`${folder.path}/ca.pem`);
  const config = CLIENT.replace(/^port = 1080$/m, 'port = 0')
    .replace('"127.0.0.1:9090"', '"127.0.0.1:0"')
    .replaceAll(
      /^tag = "(vless|trojan|shadowsocks|hysteria)"([^]*?)^port = \d+$/gm,
      (_, name: string, rest: string) =>
        `tag = "${name}"${rest}port = ${portOf(server.address(name))}`,
    )
    .replaceAll('server = "proxy.example.com"', 'server = "127.0.0.1"')
    .replaceAll(
      'network = "tls" }',
      `network = "tls", tls = { server_name = "proxy.example.com", ca_file = ${ca} } }`,
    )
    .replaceAll(
      'security = "tls", ',
      `security = "tls", tls = { server_name = "proxy.example.com", ca_file = ${ca} }, `,
    )
    .replace(
      'password = "alice:change me"',
      `password = "alice:change me", server_name = "proxy.example.com", ca_file = ${ca}`,
    );
  const perProtocol = TAGS.map(
    (tag) => `
[[inbound]]
tag = "to-${tag}"
protocol = "socks"
port = 0
[[route.rule]]
inbound_tag = ["to-${tag}"]
outbound = "${tag}"
`,
  );
  await using client = await Weir.start(config + perProtocol.join(''));
  for (const tag of TAGS) {
    const proxy = `socks5h://${hostPort(client.address(`to-${tag}`))}`;
    const { code, stderr, body } = await curl([
      '--proxy',
      proxy,
      `http://${origin.host}:${origin.port}/bytes/1000`,
    ]);
    assert.equal(code, 0, `${tag}: ${stderr}\n${client.child.stderr}\n${server.child.stderr}`);
    assert.equal(body.bytes, 1000, tag);
  }
});

test('the share links of the VPS guide are those of its server', async () => {
  const authority = new TestAuthority();
  const { cert, key } = authority.issue({ dns: ['proxy.example.com'] });
  await using folder = await scratch();
  const path = (name: string): string => join(folder.path, name);
  // An authority that the machine trusts, as that of the guide: links of other servers carry a hash.
  writeFileSync(path('ca.pem'), authority.cert);
  writeFileSync(path('cert.pem'), cert);
  writeFileSync(path('key.pem'), key, { mode: 0o600 });
  const placed = SERVER.replaceAll('"/etc/weir/', `"${folder.path}/`);
  writeFileSync(path('weir.toml'), placed);
  const { stdout, stderr } = await runWeir(
    ['share', '--host=proxy.example.com', `--config=${path('weir.toml')}`],
    { env: { SSL_CERT_FILE: path('ca.pem') } },
  );
  assert.equal(stdout.trim(), LINKS?.text.trim(), stderr);
});
