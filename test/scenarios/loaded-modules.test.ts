import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { TestAuthority } from '../support/data/test-certificates.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { FROM_SOURCE, scratch, Weir } from '../support/process/weir.ts';
import { eventually } from '../support/wait.ts';

/*
 * A start loads what its configuration names, and a reload what is new in it.
 */

const LISTER = join(import.meta.dirname, '../support/process/list-modules.ts');

/** Runs Weir, then `work`, and returns the modules that were loaded: files of packages without `src`, and others' packages. */
async function modulesOf(
  config: string,
  files: Readonly<Record<string, string>>,
  work: (weir: Weir) => Promise<void>,
): Promise<readonly string[]> {
  await using folder = await scratch();
  const list = join(folder.path, 'modules');
  await using weir = await Weir.start(config, {
    nodeArgs: ['--import', LISTER],
    env: { WEIR_TEST_MODULES: list },
    files,
  });
  await work(weir);
  await weir.stop();
  const urls = (await readFile(list, 'utf8')).split('\n');
  return urls
    .filter((url) => url.startsWith('file:'))
    .map((url) =>
      url.replace(/^.*\/node_modules\//, 'npm:').replace(/^.*\/packages\/([^/]+)\/src\//, '$1/'),
    );
}

/** What a configuration with a SOCKS inbound and direct connections has no use for. */
const UNNAMED: readonly RegExp[] = [
  /^proxy\/protocols\/(?!socks\/|freedom\/|inbounds\/|outbounds\/|users\/|[^/]+$)/,
  /^proxy\/protocols\/socks\/outbound\.ts$/,
  /^proxy\/protocols\/\w+\/forms\.ts$/,
  /^proxy\/transports\/(grpc|tls)\/(?!alpn\.ts$)/,
  /^proxy\/transports\/ws\/(?!handshake\.ts$)/,
  /^(http|quic|netstack|congestion|nodes|watch)\/|^weir\/library\//,
  /^weir\/cli\/(?!(main|command|load|option-values|process-io|surroundings|running-options)\.ts$|run\/)/,
  /^server\/api\/http\//,
  /^server\/app\/control\/(control-client|control-http|control-lines|control-transport|control-tunnels|log-followers|messages|profile-recorder|running-status|status-reporter)\.ts$/,
  /^io\/platform\/(quic-tls|tls|openssl)\//,
  /^proxy\/dns\/exchanges\/(doh|https|tls)/,
  /^proxy\/engine\/geo\/(?!geo-data\.ts$)/,
  /^config\/(edit\/|json-schema\.ts$|route-view\.ts$)/,
  /^crypto\/(aead|hash)\//,
  /^npm:(@noble|yaml|bufferutil|uqr)\b/,
];

test('a SOCKS inbound and direct connections load nothing else', async () => {
  const modules = await modulesOf(socksIn() + freedom(), {}, async () => undefined);
  assert.ok(modules.includes('proxy/protocols/socks/inbound.ts'));
  const unnamed = modules.filter((path) => UNNAMED.some((pattern) => pattern.test(path)));
  assert.deepEqual(unnamed, []);
});

const authority = new TestAuthority();
const { cert, key } = authority.issue({ dns: ['in.example'] });
const UUID = 'b831381d-6324-4d53-ad4f-8cda48b30811';
const TLS = 'tls = { cert_file = "cert.pem", key_file = "key.pem" }';
const WIREGUARD_KEY = Buffer.alloc(32, 1).toString('base64');

const inbound = (protocol: string, lines: string): string =>
  `[[inbound]]\ntag = "in-${protocol}"\nprotocol = "${protocol}"\nport = 0\n${lines}\n`;
const outbound = (protocol: string, lines: string): string =>
  `[[outbound]]\ntag = "out-${protocol}"\nprotocol = "${protocol}"\n${lines}\n`;
const upstream = (protocol: string, lines: string): string =>
  outbound(protocol, `server = "127.0.0.1"\nport = 9\n${lines}`);

/** Every protocol but `tun`, which needs privileges, and every carrier on both sides. */
const EVERYTHING = [
  inbound('http', ''),
  inbound('vless', `settings = { users = [{ id = "${UUID}" }] }\nstream = { network = "ws" }`),
  inbound(
    'vmess',
    `settings = { users = [{ id = "${UUID}" }] }\nstream = { network = "grpc", grpc = { service_name = "Gun" } }`,
  ),
  inbound(
    'trojan',
    `settings = { users = [{ password = "p" }] }\nstream = { network = "tls", ${TLS} }`,
  ),
  inbound('shadowsocks', 'settings = { method = "aes-128-gcm", password = "p" }'),
  inbound(
    'hysteria2',
    'settings = { cert_file = "cert.pem", key_file = "key.pem", password = "p" }',
  ),
  upstream('socks', ''),
  upstream('http', ''),
  upstream('vless', `settings = { id = "${UUID}" }\nstream = { network = "ws" }`),
  upstream(
    'vmess',
    `settings = { id = "${UUID}" }\nstream = { network = "grpc", grpc = { service_name = "Gun" } }`,
  ),
  upstream('trojan', 'settings = { password = "p" }\nstream = { network = "tls" }'),
  upstream('shadowsocks', 'settings = { method = "aes-128-gcm", password = "p" }'),
  upstream('hysteria2', 'settings = { password = "p" }'),
  outbound('blackhole', ''),
  outbound(
    'wireguard',
    `settings = { private_key = "${WIREGUARD_KEY}", address = ["10.0.0.2"], peer_public_key = "${WIREGUARD_KEY}", endpoint = "127.0.0.1:9" }`,
  ),
  '[dns]\nbackend = "https"\nurl = "https://dns.example/dns-query"\nserver = "127.0.0.1:443"\n',
].join('\n');

describe('a reload that introduces every protocol and carrier', () => {
  test('loads and serves them', async () => {
    const files = { 'cert.pem': cert, 'key.pem': key };
    const modules = await modulesOf(socksIn() + freedom(), files, async (weir) => {
      const text = (socksIn() + freedom() + EVERYTHING).replaceAll(
        /"(cert|key)\.pem"/g,
        (_, name: string) => JSON.stringify(join(weir.folder, `${name}.pem`)),
      );
      await writeFile(join(weir.folder, 'weir.toml'), text);
      weir.child.signal('SIGHUP');
      await weir.child.until('the end of the reload', () =>
        /config reloaded|reload: /.test(weir.child.stderr) ? true : undefined,
      );
      assert.match(weir.child.stderr, /config reloaded: built /);
    });
    const loaded = new Set(modules);
    for (const path of [
      'http/inbound.ts',
      'http/outbound.ts',
      'vless/inbound.ts',
      'vless/outbound.ts',
      'vmess/inbound.ts',
      'vmess/outbound.ts',
      'trojan/inbound.ts',
      'trojan/outbound.ts',
      'shadowsocks/inbound.ts',
      'shadowsocks/outbound.ts',
      'hysteria2/inbound.ts',
      'hysteria2/outbound.ts',
      'wireguard/outbound.ts',
      'socks/outbound.ts',
      'blackhole/index.ts',
    ]) {
      assert.ok(loaded.has(`proxy/protocols/${path}`), path);
    }
    for (const path of ['ws/server.ts', 'ws/client.ts', 'grpc/server.ts', 'grpc/client.ts']) {
      assert.ok(loaded.has(`proxy/transports/${path}`), path);
    }
    assert.ok(loaded.has('proxy/dns/exchanges/https-exchange.ts'));
  });
});

test('compiled code is there for the next start as soon as Weir serves', async () => {
  await using folder = await scratch();
  await using _weir = await Weir.start(socksIn() + freedom(), {
    ...FROM_SOURCE,
    env: { NODE_COMPILE_CACHE: folder.path },
  });
  await eventually('the code of its modules', async () => {
    const files = await readdir(folder.path, { recursive: true });
    return files.length > 100;
  });
});
