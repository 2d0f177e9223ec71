import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { hostPort } from '../support/data/address.ts';
import { webServer } from '../support/peers/servers.ts';
import { curl } from '../support/programs/curl.ts';
import { startPeer, startV2ray, startXray, without, type Peer } from '../support/programs/peers.ts';
import { SharingServer } from '../support/share/running-server.ts';
import { certificate } from '../support/ways/certificate.ts';
import { RAY_SOCKS_IN } from '../support/ways/ray.ts';
import { startSingBox } from '../support/ways/sing-box.ts';
import { GRPC_TLS, TLS, WS_TLS, wayTitle, type Way } from '../support/ways/way.ts';
import { shared } from '../support/shared.ts';

/*
 * What `weir share` prints, in the clients of others: links where a program reads them, otherwise its own
 * format. Servers have a certificate of an authority that clients do not know.
 */

const PLAIN: Way = { protocol: 'vless' };
const V2RAY: Way = { protocol: 'vmess', carrier: { network: 'ws' } };
const TROJAN: Way = { protocol: 'trojan', carrier: TLS };
const HTTP: Way = { protocol: 'http', login: true, carrier: TLS };
const OBFUSCATED: Way = { protocol: 'hysteria2', obfuscated: true };
const HYSTERIA: Way = { protocol: 'hysteria2' };
const CHACHA20: Way = { protocol: 'shadowsocks', cipher: 'chacha20-ietf-poly1305' };

const WAYS: readonly Way[] = [
  PLAIN,
  { protocol: 'vless', carrier: TLS },
  { protocol: 'vless', carrier: WS_TLS },
  V2RAY,
  { protocol: 'vmess', carrier: GRPC_TLS },
  TROJAN,
  { protocol: 'trojan', carrier: GRPC_TLS },
  { protocol: 'shadowsocks', cipher: 'aes-256-gcm' },
  { protocol: 'shadowsocks', cipher: '2022-blake3-aes-128-gcm', users: true },
  { protocol: 'socks', login: true },
  HTTP,
  OBFUSCATED,
];

const SERVED: readonly Way[] = [...WAYS, HYSTERIA, CHACHA20];

/** One server of all ways, which prints each form once. */
let server: SharingServer;
shared(async (use) => {
  server = use(await SharingServer.start(SERVED));
});
/** A client of another program for a way, by its number, with a SOCKS listener. */
type StartClient = (way: number) => Promise<Peer>;

/** Fetches a page through a client of the way's server. */
async function fetches(way: Way, start: StartClient): Promise<void> {
  await using origin = await webServer();
  await using client = await start(SERVED.indexOf(way));
  const proxy = `socks5h://${hostPort(client.address)}`;
  const url = `http://${origin.host}:${origin.port}/bytes/1000`;
  const { code, stderr, body } = await curl(['--proxy', proxy, url]);
  assert.equal(code, 0, `${stderr}\n${client.child.stderr}\n${server.weir.child.stderr}`);
  assert.equal(body.bytes, 1000);
}

const hysteria =
  (tls: object, ...args: readonly string[]): StartClient =>
  async (way) => {
    const link = await server.lastLink(way, ...args);
    return startPeer('hysteria', 1, async ([port], folder) => {
      const file = join(folder, 'config.json');
      const config = { server: link, tls, socks5: { listen: `127.0.0.1:${port}` } };
      await writeFile(file, JSON.stringify(config));
      return ['client', '-c', file, '--disable-update-check'];
    });
  };

describe("hysteria takes a link as the server's address", { skip: without('hysteria') }, () => {
  test('with Salamander, and its own trust in the authority', () =>
    fetches(OBFUSCATED, hysteria({ ca: certificate().caFile })));
  test('with --insecure', () => fetches(HYSTERIA, hysteria({}, '--insecure')));
});

describe('sing-box takes the outbounds of --form sing-box', { skip: without('sing-box') }, () => {
  for (const way of WAYS) {
    test(wayTitle(way), () =>
      fetches(way, async (at) =>
        startSingBox({
          inbound: { type: 'socks' },
          outbound: await server.lastOutbound(at, 'sing-box'),
        }),
      ),
    );
  }
});

describe('Xray takes the outbounds of --form xray', { skip: without('xray') }, () => {
  for (const way of WAYS) {
    test(wayTitle(way), () =>
      fetches(way, async (at) =>
        startXray([RAY_SOCKS_IN], [await server.lastOutbound(at, 'xray')]),
      ),
    );
  }
});

describe('v2ray takes the outbounds of --form xray', { skip: without('v2ray') }, () => {
  for (const way of [V2RAY, PLAIN]) {
    test(wayTitle(way), () =>
      fetches(way, async (at) =>
        startV2ray([RAY_SOCKS_IN], [await server.lastOutbound(at, 'xray')]),
      ),
    );
  }
});

test('ss-local takes what a link says', { skip: without('ss-local') }, () =>
  fetches(CHACHA20, async (way) => {
    const { username, hostname, port } = new URL(await server.lastLink(way));
    const [method = '', ...password] = Buffer.from(username, 'base64url').toString().split(':');
    return startPeer('ss-local', 1, ([own]) =>
      Promise.resolve([
        ...`-s ${hostname} -p ${port} -b 127.0.0.1 -l ${own} -m ${method} -k`.split(' '),
        password.join(':'),
      ]),
    );
  }),
);

test('trojan takes what a link says', { skip: without('trojan') }, () =>
  fetches(TROJAN, async (way) => {
    const { username, hostname, port, searchParams } = new URL(await server.lastLink(way));
    return startPeer('trojan', 1, async ([own], folder) => {
      const file = join(folder, 'trojan.json');
      const config = {
        run_type: 'client',
        local_addr: '127.0.0.1',
        local_port: own,
        remote_addr: hostname,
        remote_port: Number(port),
        password: [decodeURIComponent(username)],
        log_level: 2,
        ssl: {
          verify: true,
          verify_hostname: true,
          cert: certificate().caFile,
          sni: searchParams.get('sni'),
          alpn: ['http/1.1'],
        },
      };
      await writeFile(file, JSON.stringify(config));
      return ['-c', file];
    });
  }),
);

test('curl takes the link of an HTTP proxy', async () => {
  await using origin = await webServer();
  const link = new URL(await server.lastLink(SERVED.indexOf(HTTP)));
  const name = link.searchParams.get('sni') ?? '';
  const { code, stderr, body } = await curl([
    '--proxy',
    `https://${link.username}:${link.password}@${name}:${link.port}`,
    '--resolve',
    `${name}:${link.port}:127.0.0.1`,
    '--proxy-cacert',
    certificate().caFile,
    `http://${origin.host}:${origin.port}/bytes/1000`,
  ]);
  assert.equal(code, 0, stderr);
  assert.equal(body.bytes, 1000);
});
