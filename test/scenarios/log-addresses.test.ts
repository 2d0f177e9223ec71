import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blackhole, freedom, proxyOut, rule, socksIn } from '../support/process/config.ts';
import { freePort } from '../support/ports.ts';
import { echoServer, tcpServer } from '../support/peers/servers.ts';
import { socksConnect, SocksRefused, socksReply } from '../support/peers/socks-client.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
import { disposable } from '../support/data/address.ts';
import { roundTrip } from '../support/read.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';
import type { Way } from '../support/ways/way.ts';
import { Weir } from '../support/process/weir.ts';
import { eventually } from '../support/wait.ts';

/** Addresses of clients, destinations and servers; inbounds listen on 127.0.0.1. */
const CLIENT = '127.0.5.7';
const DESTINATION = '127.0.6.7';
const SERVER = '127.0.7.7';
const CLOSED = '127.0.8.7';
const NAMES = ['private.host.example', 'blocked.secret.example', 'mail.other.example'];
const REDIRECT = 'login.portal.example';
const USED = [CLIENT, DESTINATION, SERVER, CLOSED, ...NAMES, REDIRECT, '2001:db8:1:2::3', 'not a'];

/** By tag: outbounds, each of which fails in its own way. */
const WAYS: Readonly<Record<string, Way>> = {
  tls: { protocol: 'trojan', carrier: { network: 'tcp', tls: true } },
  grpc: { protocol: 'trojan', carrier: { network: 'grpc' } },
  ws: { protocol: 'vless', carrier: { network: 'ws' } },
  vmess: { protocol: 'vmess' },
  ss: { protocol: 'shadowsocks', cipher: 'aes-128-gcm' },
  hy: { protocol: 'hysteria2' },
};

/** Makes flows of every kind through a Weir, and returns its log. */
async function maskedLog(): Promise<string> {
  await using echo = await echoServer(DESTINATION);
  // A proxy that names addresses in what it answers, and redirects what asks for a WebSocket.
  await using talker = await tcpServer((socket) => {
    const reason = `502 cannot reach ${NAMES[0]}`;
    socket.once('data', (head) =>
      socket.end(
        String(head).startsWith('CONNECT')
          ? `HTTP/1.1 ${reason}\r\n\r\n`
          : `HTTP/1.1 302 Found\r\nLocation: https://${REDIRECT}/\r\n\r\n`,
      ),
    );
  }, SERVER);
  const closed = { host: CLOSED, port: await freePort() };
  const server = { host: SERVER, port: talker.port };
  const tags = ['http', 'socks', 'dead', 'ws-talker', ...Object.keys(WAYS)];
  await using weir = await Weir.start(
    [
      socksIn('in', 'sniffing = true'),
      ...tags.map((tag) => socksIn(`in-${tag}`)),
      socksIn('in-block'),
      weirIn(WAYS['vmess'] as Way, { tag: 'rejects' }),
      freedom(),
      blackhole(),
      proxyOut('http', 'http', server),
      proxyOut('socks', 'socks', server),
      proxyOut('dead', 'socks', closed),
      weirOut(WAYS['ws'] as Way, server, { tag: 'ws-talker' }),
      ...Object.entries(WAYS).map(([tag, way]) => weirOut(way, closed, { tag })),
      ...tags.map((tag) => rule(tag, `inbound_tag = ["in-${tag}"]`)),
      rule('block', 'inbound_tag = ["in-block"]'),
      '[dns]\nbackend = "udp"\nserver = "127.0.0.1:9"\n',
    ].join('\n'),
    { env: { RUST_LOG: 'trace', WEIR_LOG_ADDRESSES: 'none' } },
  );
  const from = { localAddress: CLIENT };
  {
    using flow = disposable(await socksConnect(weir.address('in'), echo.target, from));
    await roundTrip(flow, Buffer.from('x'));
    using udp = await UdpAssociation.open(weir.address('in'), from);
    udp.send(echo.target, Buffer.from('x'));
  }
  const reply = (tag: string, host: string, port = 80): Promise<number> =>
    socksReply(weir.address(tag), { host, port }, from);
  const failed = [reply('in', CLOSED, closed.port), reply('in', 'not a host')];
  for (const host of [...NAMES, '2001:db8:1:2::3']) failed.push(reply('in', host));
  for (const tag of ['block', ...tags.filter((each) => each !== 'hy')]) {
    failed.push(reply(`in-${tag}`, NAMES[1] ?? ''));
  }
  // Some protocols learn nothing before the first bytes; those flows are ended by their servers.
  await Promise.all(failed);
  const { port } = weir.address('in') as { port: number };
  // The inbound that a request came in by: refused, with a line of its own.
  await assert.rejects(
    socksConnect(weir.address('in'), { host: '127.0.0.1', port }, from),
    SocksRefused,
  );
  await eventually('a line of each outbound', () =>
    ['block', 'http', 'dead', 'tls', 'vmess'].every((tag) =>
      weir.child.stderr.includes(` by ${tag}: `),
    ),
  );
  return weir.child.stderr;
}

test('WEIR_LOG_ADDRESSES=none keeps every address out of the log', async () => {
  const log = await maskedLog();
  for (const address of USED) assert.ok(!log.includes(address), `${address} is in\n${log}`);
  assert.match(log, /in -> tcp <address>:\d+ by direct opened \(default route, from <address>\)/);
  assert.match(log, /inbound in listening on 127\.0\.0\.1:/);
  assert.match(log, /the proxy responded 502 <text>/);
});
