import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { hostPort, portOf, type Address } from '../support/address.ts';
import { freedom, socksIn } from '../support/config.ts';
import { bothWays } from '../support/exchange.ts';
import { startV2ray, startXray, V2RAY_SOCKS_IN, without, type Peer } from '../support/peers.ts';
import { roundTrip } from '../support/read.ts';
import { echoServer, webServer } from '../support/servers.ts';
import { socksConnect } from '../support/socks-client.ts';
import { TestAuthority } from '../support/test-certificates.ts';
import { scratch, Weir } from '../support/weir.ts';

const MB = 1 << 20;
const BODY = 64 * MB;
const NAME = 'server.test';

/** The certificate of whoever serves, as PEM and in files of `folder`. */
interface Certificate {
  readonly folder: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

async function makeCertificate(folder: string): Promise<Certificate> {
  const authority = new TestAuthority();
  const { cert, key } = authority.issue({ dns: [NAME] });
  await writeFile(join(folder, 'ca.pem'), authority.cert);
  await writeFile(join(folder, 'cert.pem'), cert);
  await writeFile(join(folder, 'key.pem'), key);
  return { folder, ca: authority.cert, cert, key };
}

const lines = (pem: string): string[] => pem.trim().split('\n');

/** One carrier, as each side writes it. */
interface Way {
  readonly name: string;
  /** Lines below `[inbound.stream]` or `[outbound.stream]`, but for `tls`. */
  readonly weir: string;
  readonly weirOut?: string;
  readonly ray: object;
  readonly tls: boolean;
  /** Who speaks it. */
  readonly peers: readonly ('v2ray' | 'xray')[];
}

const WAYS: readonly Way[] = [
  {
    name: 'tls',
    weir: 'network = "tls"',
    ray: { network: 'tcp' },
    tls: true,
    peers: ['v2ray', 'xray'],
  },
  ...[false, true].flatMap((tls): Way[] => {
    const security = tls ? '\nsecurity = "tls"' : '';
    const over = tls ? ' over tls' : '';
    const ws = `network = "ws"${security}\nws.path = "/tunnel"`;
    const wsRay = { network: 'ws', wsSettings: { path: '/tunnel' } };
    const grpc = `network = "grpc"${security}\ngrpc.service_name = "Gun"`;
    const grpcRay = { serviceName: 'Gun' };
    return [
      { name: `ws${over}`, weir: ws, ray: wsRay, tls, peers: ['v2ray', 'xray'] },
      {
        name: `ws with early data${over}`,
        weir: `${ws.slice(0, -1)}?ed=2048"`,
        ray: { network: 'ws', wsSettings: { path: '/tunnel?ed=2048' } },
        tls,
        peers: ['xray'],
      },
      {
        name: `grpc${over}`,
        weir: grpc,
        ray: { network: 'grpc', grpcSettings: grpcRay },
        tls,
        peers: ['xray'],
      },
      {
        name: `grpc multi${over}`,
        weir: grpc,
        ray: { network: 'grpc', grpcSettings: { ...grpcRay, multiMode: true } },
        tls,
        peers: ['xray'],
      },
    ];
  }),
];

const START = { v2ray: startV2ray, xray: startXray };

const rayServer = (way: Way, { cert, key }: Certificate): object => ({
  ...way.ray,
  security: way.tls ? 'tls' : 'none',
  tlsSettings: { certificates: [{ certificate: lines(cert), key: lines(key) }] },
});

/** The test's authority is trusted as v2ray and Xray have it: in a certificate of its own. */
const rayClient = (way: Way, { ca }: Certificate): object => ({
  ...way.ray,
  security: way.tls ? 'tls' : 'none',
  tlsSettings: {
    serverName: NAME,
    disableSystemRoot: true,
    certificates: [{ usage: 'verify', certificate: lines(ca) }],
  },
});

function weirOut(way: Way, server: Address, { folder }: Certificate): string {
  const tls = way.tls
    ? `tls = { server_name = "${NAME}", ca_file = "${join(folder, 'ca.pem')}" }\n`
    : '';
  return `[[outbound]]
tag = "out"
protocol = "socks"
server = "127.0.0.1"
port = ${portOf(server)}
[outbound.stream]
${way.weir}
${tls}`;
}

function weirIn(way: Way, { folder }: Certificate): string {
  const tls = way.tls
    ? `tls = { cert_file = "${join(folder, 'cert.pem')}", key_file = "${join(folder, 'key.pem')}" }\n`
    : '';
  return `[[inbound]]
tag = "in"
protocol = "http"
port = 0
[inbound.stream]
${way.weir}
${tls}`;
}

async function exercise(proxy: Address): Promise<void> {
  await using web = await webServer();
  await bothWays(['-x', `socks5h://${hostPort(proxy)}`], web, BODY);
  await using echo = await echoServer();
  const one = async (i: number): Promise<void> => {
    const socket = await socksConnect(proxy, echo.target);
    const text = `connection ${i}`;
    assert.equal(String(await roundTrip(socket, text)), text);
    socket.destroy();
  };
  await Promise.all(Array.from({ length: 100 }, (_, i) => one(i)));
}

for (const name of ['v2ray', 'xray'] as const) {
  const skip = without(name);
  const ways = WAYS.filter(({ peers }) => peers.includes(name));
  test(`Weir as a client of ${name}`, { skip }, async (t) => {
    await using folder = await scratch();
    const certificate = await makeCertificate(folder.path);
    for (const way of ways) {
      await t.test(way.name, async () => {
        const inbound = { ...V2RAY_SOCKS_IN, streamSettings: rayServer(way, certificate) };
        await using peer: Peer = await START[name]([inbound]);
        await using weir = await Weir.start(socksIn() + weirOut(way, peer.address, certificate));
        await exercise(weir.address('socks'));
      });
    }
  });

  test(`${name} as a client of Weir`, { skip }, async (t) => {
    await using folder = await scratch();
    const certificate = await makeCertificate(folder.path);
    for (const way of ways) {
      await t.test(way.name, async () => {
        await using weir = await Weir.start(weirIn(way, certificate) + freedom());
        const server = { address: '127.0.0.1', port: portOf(weir.address('in')) };
        const outbound = {
          protocol: 'http',
          settings: { servers: [server] },
          streamSettings: rayClient(way, certificate),
        };
        await using peer = await START[name]([V2RAY_SOCKS_IN], [outbound]);
        await exercise(peer.address);
      });
    }
  });
}
