import test from 'node:test';
import { hostPort } from '../support/data/address.ts';
import { written } from '../support/import/written.ts';
import { webServer } from '../support/peers/servers.ts';
import { Weir } from '../support/process/weir.ts';
import { bothWays } from '../support/programs/exchange.ts';
import { without } from '../support/programs/peers.ts';
import type { Program } from '../support/ways/program.ts';
import { rayIn } from '../support/ways/ray.ts';
import { singBox, singBoxIn } from '../support/ways/sing-box.ts';
import { CARRIERS, TLS, wayTitle, type Way } from '../support/ways/way.ts';
import { xray } from '../support/ways/xray.ts';

/*
 * Servers of sing-box and Xray as Weir imports them: clients of both programs reach a page through them.
 */

const MODERN = '2022-blake3-aes-128-gcm';
const WAYS: readonly Way[] = [
  ...(['vless', 'trojan'] as const).flatMap((protocol) =>
    CARRIERS.filter(({ earlyData, multi }) => earlyData !== true && multi !== true).map(
      (carrier): Way => ({ protocol, carrier }),
    ),
  ),
  { protocol: 'vmess', cipher: 'aes-128-gcm' },
  { protocol: 'vmess', cipher: 'auto' },
  { protocol: 'vmess', cipher: 'aes-128-gcm', carrier: TLS },
  { protocol: 'vmess', cipher: 'chacha20-poly1305', carrier: { network: 'ws', tls: true } },
  { protocol: 'shadowsocks', cipher: 'aes-256-gcm' },
  { protocol: 'shadowsocks', cipher: 'aes-256-gcm', users: true },
  { protocol: 'shadowsocks', cipher: MODERN },
  { protocol: 'shadowsocks', cipher: MODERN, users: true },
  { protocol: 'socks', login: true },
  { protocol: 'http', login: true },
];
const HYSTERIA2: readonly Way[] = [
  { protocol: 'hysteria2' },
  { protocol: 'hysteria2', obfuscated: true },
];
const CLIENTS: readonly Program[] = [singBox, xray];
const BODY = 1 << 20;

/** Weir with the inbounds of a document; ports are the kernel's choice. */
async function weirFrom(document: object): Promise<Weir> {
  const { text } = await written(JSON.stringify(document));
  return Weir.start(
    text
      .replaceAll(/^port = 43\d\d$/gm, 'port = 0')
      .replace('listen = "127.0.0.1:9090"', 'listen = "127.0.0.1:0"'),
  );
}

const SERVERS = [
  {
    name: 'sing-box',
    ways: [...WAYS, ...HYSTERIA2],
    documentOf: (ways: readonly Way[]): object => ({
      inbounds: ways.map((way, at) => ({
        ...singBoxIn(way),
        tag: `in${at}`,
        listen: '127.0.0.1',
        listen_port: 4300 + at,
      })),
      outbounds: [{ type: 'direct', tag: 'direct' }],
    }),
  },
  {
    name: 'Xray',
    ways: WAYS,
    documentOf: (ways: readonly Way[]): object => ({
      inbounds: ways.map((way, at) => ({
        ...rayIn(way),
        tag: `in${at}`,
        listen: '127.0.0.1',
        port: 4300 + at,
      })),
      outbounds: [{ protocol: 'freedom', tag: 'direct' }],
    }),
  },
] as const;

for (const { name, ways, documentOf } of SERVERS) {
  test(`the servers of a configuration of ${name}, imported`, async (t) => {
    await using web = await webServer();
    await using weir = await weirFrom(documentOf(ways));
    for (const [at, way] of ways.entries()) {
      for (const client of CLIENTS) {
        const skip = client.unable(way, 'client') ?? without(...client.needs.client);
        await t.test(`serve ${client.name} by ${wayTitle(way)}`, { skip }, async () => {
          await using end = await client.client(way, weir.address(`in${at}`));
          await bothWays(['-x', `socks5h://${hostPort(end.address)}`], web, BODY);
        });
      }
    }
  });
}
