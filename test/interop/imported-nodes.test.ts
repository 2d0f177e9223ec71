import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { hostPort, portOf, type Address } from '../support/data/address.ts';
import { webServer, type Origin } from '../support/peers/servers.ts';
import { freePort } from '../support/ports.ts';
import { runWeir, Weir } from '../support/process/weir.ts';
import { bothWays } from '../support/programs/exchange.ts';
import { without } from '../support/programs/peers.ts';
import { certificate, SERVER_NAME } from '../support/ways/certificate.ts';
import type { End, ProgramName } from '../support/ways/program.ts';
import { PROGRAMS } from '../support/ways/programs.ts';
import {
  clientSecrets,
  LOGIN,
  OBFS_PASSWORD,
  shadowsocksSecrets,
} from '../support/ways/secrets.ts';
import { carrierOf, GRPC_TLS, TCP, TLS, wayTitle, WS_TLS, type Way } from '../support/ways/way.ts';

/*
 * One document of Clash whose proxies are servers that really run: imported by `weir import`, run by
 * Weir, and a page loaded through each of them.
 */

const NODES: readonly { readonly way: Way; readonly server: ProgramName }[] = [
  ...[TLS, WS_TLS, GRPC_TLS].map((carrier) => ({
    way: { protocol: 'trojan', carrier } as const,
    server: 'xray' as const,
  })),
  { way: { protocol: 'trojan', carrier: TLS }, server: 'trojan' },
  ...[TCP, TLS, WS_TLS, GRPC_TLS].map((carrier) => ({
    way: { protocol: 'vless', carrier } as const,
    server: 'sing-box' as const,
  })),
  { way: { protocol: 'vless', carrier: { ...WS_TLS, earlyData: true } }, server: 'xray' },
  ...[TCP, TLS, WS_TLS].map((carrier) => ({
    way: { protocol: 'vmess', cipher: 'aes-128-gcm', carrier } as const,
    server: 'v2ray' as const,
  })),
  { way: { protocol: 'vmess', cipher: 'aes-128-gcm', carrier: GRPC_TLS }, server: 'xray' },
  { way: { protocol: 'vmess', cipher: 'chacha20-poly1305' }, server: 'xray' },
  // The client alone chooses: servers take the AES-128-GCM that Weir makes of these.
  ...(['sing-box', 'xray'] as const).flatMap((server) =>
    ['auto', 'zero'].map((cipher) => ({
      way: { protocol: 'vmess', cipher, carrier: TLS } as const,
      server,
    })),
  ),
  { way: { protocol: 'shadowsocks', cipher: 'aes-256-gcm' }, server: 'ss-libev' },
  { way: { protocol: 'shadowsocks', cipher: '2022-blake3-aes-128-gcm' }, server: 'sing-box' },
  { way: { protocol: 'socks', login: true }, server: 'sing-box' },
  { way: { protocol: 'http', login: true }, server: 'xray' },
  { way: { protocol: 'hysteria2' }, server: 'hysteria' },
  { way: { protocol: 'hysteria2', obfuscated: true }, server: 'sing-box' },
];

/** Large enough for every carrier to need several of its frames. */
const BODY = 3 << 20;

/** A proxy of Clash for a way. */
function proxyOf(name: string, way: Way, server: Address): object {
  const { network, tls = false, earlyData = false } = carrierOf(way);
  const { id, password } = clientSecrets(way);
  const place = { name, server: '127.0.0.1', port: portOf(server) };
  const carrier = {
    ...(network === 'tcp' ? {} : { network }),
    ...(network === 'ws'
      ? { 'ws-opts': { path: '/tunnel', ...(earlyData ? { 'max-early-data': 2048 } : {}) } }
      : {}),
    ...(network === 'grpc' ? { 'grpc-opts': { 'grpc-service-name': 'Tunnel' } } : {}),
  };
  // Clash names no authority for a TLS proxy.
  const security = tls ? { tls: true, servername: SERVER_NAME, 'skip-cert-verify': true } : {};
  switch (way.protocol) {
    case 'trojan':
      return { ...place, type: 'trojan', password, ...carrier, ...security, sni: SERVER_NAME };
    case 'vless':
      return { ...place, type: 'vless', uuid: id, ...carrier, ...security };
    case 'vmess':
      return {
        ...place,
        type: 'vmess',
        uuid: id,
        alterId: 0,
        cipher: way.cipher,
        ...carrier,
        ...security,
      };
    case 'shadowsocks':
      return { ...place, type: 'ss', cipher: way.cipher, password: shadowsocksSecrets(way).client };
    case 'hysteria2':
      return {
        ...place,
        type: 'hysteria2',
        password,
        sni: SERVER_NAME,
        ca: certificate().caFile,
        ...(way.obfuscated ? { obfs: 'salamander', 'obfs-password': OBFS_PASSWORD } : {}),
      };
    case 'socks':
      return { ...place, type: 'socks5', username: LOGIN.user, password: LOGIN.pass };
    case 'http':
      return { ...place, type: 'http', username: LOGIN.user, password: LOGIN.pass };
    default:
      return way.protocol satisfies never;
  }
}

/** A node that runs, with the SOCKS listener whose flows go there. */
interface RunningNode {
  readonly name: string;
  readonly way: Way;
  readonly server: End;
  readonly port: number;
}

/** Each listener has a rule of its own; what comes otherwise is dropped. */
const documentOf = (nodes: readonly RunningNode[]): string =>
  Object.entries({
    'log-level': 'info',
    proxies: nodes.map(({ name, way, server }) => proxyOf(name, way, server.address)),
    'proxy-groups': nodes.map(({ name }) => ({
      name: `group of ${name}`,
      type: 'select',
      proxies: [name, 'DIRECT'],
    })),
    listeners: nodes.map(({ port }) => ({
      name: `in-${port}`,
      type: 'socks',
      port,
      listen: '127.0.0.1',
    })),
    rules: [
      ...nodes.map(({ name, port }) => `IN-NAME,in-${port},group of ${name}`),
      'MATCH,REJECT',
    ],
  })
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
    .join('');

/** Without commas, which separate the parts of a rule. */
const titleOf = ({ way, server }: (typeof NODES)[number]): string =>
  `${wayTitle(way)} to ${server}`.replaceAll(',', '');

describe('a page loads through a server imported from Clash', () => {
  const servers = new AsyncDisposableStack();
  const nodes: RunningNode[] = [];
  let web: Origin;
  before(async () => {
    web = servers.use(await webServer());
    for (const node of NODES) {
      const program = PROGRAMS[node.server];
      if (without(...program.needs.server)) continue;
      const server = servers.use(await program.server(node.way));
      nodes.push({ name: titleOf(node), way: node.way, server, port: await freePort() });
    }
  });
  after(() => servers.disposeAsync());

  for (const form of ['one file', 'two files'] as const) {
    test(`as ${form}`, { timeout: 170_000 }, async (t) => {
      await using stack = new AsyncDisposableStack();
      const folder = mkdtempSync(join(tmpdir(), 'weir-imported-'));
      stack.defer(() => rmSync(folder, { recursive: true }));
      const file = join(folder, 'clash.yaml');
      writeFileSync(file, documentOf(nodes));
      const output = form === 'one file' ? [] : ['--output', folder];
      const imported = await runWeir(['import', ...output, file]);
      assert.equal(imported.ended?.code, 0, imported.stderr);
      const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
      const config = form === 'one file' ? imported.stdout : read('weir.toml');
      const files = form === 'one file' ? {} : { 'nodes.toml': read('nodes.toml') };
      // The API has a fixed port, which other tests may use.
      const weir = stack.use(
        await Weir.start(config.replace(/^\[api\]\nlisten = .*$/m, ''), { files }),
      );
      for (const node of NODES) {
        const running = nodes.find(({ name }) => name === titleOf(node));
        const skip = without(...PROGRAMS[node.server].needs.server);
        await t.test(titleOf(node), { skip }, async () => {
          assert.ok(running);
          const socks = hostPort(weir.address(`in-${running.port}`));
          await bothWays(['-x', `socks5h://${socks}`], web, BODY);
        });
      }
    });
  }
});
