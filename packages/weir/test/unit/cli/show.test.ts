import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { parse } from 'smol-toml';
import { loadConfigFile } from '@weir/server/loading';
import { showCommand } from '../../../src/cli/config/show.ts';

/** What the command prints for a file, with the folder of the file left out. */
async function show(
  context: TestContext,
  files: Readonly<Record<string, string>>,
  ...more: string[]
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-show-'));
  context.after(() => rm(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const io = { stdout: new PassThrough(), stderr: new PassThrough(), env: {} };
  const chunks: unknown[] = [];
  io.stdout.on('data', (chunk) => chunks.push(chunk));
  const status = await showCommand(['--config', join(folder, 'weir.toml'), ...more], io);
  assert.equal(status, 0);
  return chunks.join('').replaceAll(`${folder}/`, '');
}

const CONFIG = `[[inbound]]
tag = "in"
protocol = "socks"
port = 1080

[[outbound]]
tag = "own"
protocol = "freedom"

[subscribe]
path = "nodes.toml"
[subscribe.routes]
video = "tokyo"
`;

const NODES = `[[proxy_server]]
name = "tokyo"
protocol = "trojan"
server = "192.0.2.1"
port = 443
[proxy_server.settings]
password = "S3cret"
[proxy_server.stream]
network = "tls"

[[route_group]]
name = "video"
[[route_group.rule]]
domain_suffix = ["video.example"]

[[route_group]]
name = "lan"
inherit = "direct"
[[route_group.rule]]
cidr = ["192.0.2.0/24"]
`;

test('files are merged, defaults filled in, and each value has its place', async (context) => {
  assert.equal(
    await show(context, { 'weir.toml': CONFIG, 'nodes.toml': NODES }),
    `# What is in force of weir.toml and nodes.toml. Secrets are starred.

[log] # default
level = "info" # default

[dns] # default
backend = "system" # default

[[inbound]] # weir.toml:1
tag = "in" # weir.toml:2
protocol = "socks" # weir.toml:3
port = 1080 # weir.toml:4
listen = "127.0.0.1" # default
sniffing = true # default

[[outbound]] # weir.toml:6
tag = "own" # weir.toml:7
protocol = "freedom" # weir.toml:8

[[outbound]] # nodes.toml:1
tag = "tokyo" # nodes.toml:2
protocol = "trojan" # nodes.toml:3
server = "192.0.2.1" # nodes.toml:4
port = 443 # nodes.toml:5

[outbound.settings] # nodes.toml:6
password = "***" # nodes.toml:7

[outbound.stream] # nodes.toml:8
network = "tls" # nodes.toml:9
security = "none" # default

[[outbound]] # built in
tag = "direct" # built in
protocol = "freedom" # built in

[route] # default
default = "own" # default: the first outbound

[[route.rule]] # nodes.toml:13
outbound = "tokyo" # weir.toml:13
domain_suffix = ["video.example"] # nodes.toml:14

[[route.rule]] # nodes.toml:19
outbound = "direct" # nodes.toml:18
cidr = ["192.0.2.0/24"] # nodes.toml:20
`,
  );
});

const PLAIN = `log.level = "warn"
[dns]
backend = "udp"
server = "192.0.2.53:53"
[[inbound]]
tag = "a\\u001b"
protocol = "http"
listen = "/run/x.sock"
[[inbound]]
tag = "b"
protocol = "tun"
settings = { address = ["10.0.0.1/24"] }
[[inbound]]
tag = "c"
protocol = "shadowsocks"
port = 0
settings = { method = "AES-128-GCM", password = "***", clients = [{ password = "***" }] }
[[outbound]]
tag = "d"
protocol = "http"
server = "example.org"
port = 8080
stream = { network = "ws", ws = { path = "/x" } }
[[outbound]]
tag = "e"
protocol = "freedom"
[[balancer]]
tag = "f"
outbounds = ["d"]
[route]
default = "f"
[[route.rule]]
outbound = "d"
domain_full = [${Array.from({ length: 20 }, (_, index) => `"${index}.example.org"`).join(', ')}]
port = ["1-2"]
[api]
listen = "127.0.0.1:0"
secret = "***"
`;

test('what is shown is the same configuration', async (context) => {
  const specOf = async (text: string): Promise<unknown> => {
    const { spec, api } = await loadConfigFile('weir.toml', { bytes: Buffer.from(text) });
    return { spec, secret: api?.secret };
  };
  const shown = await show(context, { 'weir.toml': PLAIN });
  assert.deepEqual(await specOf(shown), await specOf(PLAIN));
  assert.ok(parse(shown), 'another parser reads it too');
  // Once more, and only the places change.
  const values = (text: string): string => text.replaceAll(/ # .*| # weir.*/g, '');
  assert.equal(values(await show(context, { 'weir.toml': shown })), values(shown));
});

test('no secret is shown, in either form', async (context) => {
  const id = 'b831381d-6324-4d53-ad4f-8cda48b30811';
  const text = `[[inbound]]
tag = "a"
protocol = "vless"
port = 0
settings = { users = [{ id = "${id}" }] } # ${id}
[[inbound]]
tag = "b"
protocol = "http"
port = 0
settings = { accounts = [{ user = "ann", pass = "S3cret" }] }
[[outbound]]
tag = "c"
protocol = "shadowsocks"
server = "192.0.2.1"
port = 1
settings = { method = "aes-128-gcm", password = "S3cret" }
[api]
listen = "127.0.0.1:0"
secret = "S3cret"
`;
  for (const more of [[], ['--json']]) {
    const shown = await show(context, { 'weir.toml': text }, ...more);
    assert.doesNotMatch(shown, /S3cret|b831381d/);
    assert.match(shown, /ann/);
  }
  const json = JSON.parse(await show(context, { 'weir.toml': text }, '--json')) as {
    readonly config: { readonly api: unknown };
    readonly places: Readonly<Record<string, string>>;
  };
  assert.deepEqual(json.config.api, { listen: '127.0.0.1:0', secret: '***' });
  assert.equal(json.places['inbound[0].settings.users[0].id'], 'weir.toml:5');
});

test('no character of a foreign name reaches the terminal that could steer it', async (context) => {
  const name = 'a\u009b31mb\u202ec';
  const named = NODES.replace('"tokyo"', `"${name}"`);
  const config = CONFIG.replace('"tokyo"', `"${name}"`);
  const shown = await show(context, { 'weir.toml': config, 'nodes.toml': named });
  assert.doesNotMatch(shown, /[\u0080-\u009f\u202e]/);
  assert.ok(shown.includes(String.raw`tag = "a\u009b31mb\u202ec"`));
  assert.ok(JSON.stringify(parse(shown)).includes(name));
});
