import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { hostPort, portOf, type Address } from '../support/address.ts';
import { freedom, proxyOut, socksIn } from '../support/config.ts';
import { curl } from '../support/curl.ts';
import { bothWays, datagrams, socksHalfCloses } from '../support/exchange.ts';
import { startV2ray, V2RAY_SOCKS_IN, without, type Peer } from '../support/peers.ts';
import { bannerServer, udpEcho, webServer } from '../support/servers.ts';
import {
  startRustLocal,
  startRustServer,
  startSsLocal,
  startSsServer,
} from '../support/shadowsocks-peers.ts';
import { Weir } from '../support/weir.ts';

const BODY = 48 << 20;
const PASSWORD = 'correct horse: battery';
const KEY16 = Buffer.alloc(16, 'weir').toString('base64');
const KEY32 = Buffer.alloc(32, 'weir').toString('base64');
const USER16 = [1, 2].map((i) => Buffer.alloc(16, i).toString('base64'));
const USER32 = [1, 2].map((i) => Buffer.alloc(32, i).toString('base64'));

const LIBEV = ['aes-128-gcm', 'aes-256-gcm', 'chacha20-ietf-poly1305', 'xchacha20-ietf-poly1305'];
const V2RAY = ['aes-128-gcm', 'aes-256-gcm', 'chacha20-poly1305'];
const MODERN = [
  ['2022-blake3-aes-128-gcm', KEY16, USER16],
  ['2022-blake3-aes-256-gcm', KEY32, USER32],
  ['2022-blake3-chacha20-poly1305', KEY32, []],
] as const;

const ssIn = (method: string, password: string, users: readonly string[] = []): string => {
  const list = users.map((user) => `{ password = "${user}", email = "someone" }`).join(', ');
  const more = users.length > 0 ? `users = [${list}]\n` : '';
  return (
    '[[inbound]]\ntag = "ss"\nprotocol = "shadowsocks"\nport = 0\n' +
    `[inbound.settings]\nmethod = "${method}"\npassword = "${password}"\n${more}`
  );
};
const settings = (method: string, password: string): string =>
  `method = "${method}"\npassword = "${password}"`;
const ssOut = (server: Address, method: string, password: string): string =>
  proxyOut('out', 'shadowsocks', server, settings(method, password));

/** A body both ways, half-closes where the peer has them, a server that speaks first, datagrams. */
async function everything(t: TestContext, socks: Address, halfClose: boolean): Promise<void> {
  await using web = await webServer();
  await t.test('a body both ways', () =>
    bothWays(['-x', `socks5h://${hostPort(socks)}`], web, BODY),
  );
  // shadowsocks-libev closes both ways when one ends, v2ray a second later.
  if (halfClose) await t.test('half-closes', () => socksHalfCloses(socks));
  await t.test('a server that speaks first', async () => {
    await using banner = await bannerServer('220 welcome\r\n');
    const site = `telnet://127.0.0.1:${banner.port}`;
    const { text } = await curl(['-x', `socks5h://${hostPort(socks)}`, '-m', '5', site]);
    assert.equal(text, '220 welcome\r\n');
  });
  await t.test('datagrams', async () => {
    await using first = await udpEcho();
    await using second = await udpEcho();
    await datagrams(socks, [first, second]);
  });
}

/** Weir as the client of a server, and as the server of a client. */
function pair(
  title: string,
  skip: string | false,
  peers: {
    readonly method: string;
    readonly server?: () => Promise<Peer>;
    readonly client?: (weir: Address) => Promise<Peer>;
    /** Of Weir's outbound. */
    readonly password: string;
    /** Of Weir's inbound. */
    readonly inbound: string;
    readonly halfClose?: boolean;
  },
): void {
  const { method, password, inbound } = peers;
  const { server: startServer, client: startClient } = peers;
  if (startServer) {
    test(`Weir as a client of ${title}`, { skip }, async (t) => {
      await using server = await startServer();
      await using weir = await Weir.start(socksIn() + ssOut(server.address, method, password));
      await everything(t, weir.address('socks'), peers.halfClose ?? false);
    });
  }
  if (startClient) {
    test(`${title} as a client of Weir`, { skip }, async (t) => {
      await using weir = await Weir.start(inbound + freedom());
      await using client = await startClient(weir.address('ss'));
      await everything(t, client.address, peers.halfClose ?? false);
    });
  }
}

for (const method of LIBEV) {
  pair(`shadowsocks-libev, ${method}`, without('ss-server', 'ss-local'), {
    method,
    password: PASSWORD,
    inbound: ssIn(method, PASSWORD),
    server: () => startSsServer(method, PASSWORD),
    client: (weir) => startSsLocal(weir, method, PASSWORD),
  });
}

for (const method of V2RAY) {
  pair(`v2ray, ${method}`, without('v2ray'), {
    method,
    password: PASSWORD,
    inbound: ssIn(method, PASSWORD),
    server: () =>
      startV2ray([
        { protocol: 'shadowsocks', settings: { method, password: PASSWORD, network: 'tcp,udp' } },
      ]),
    client: (weir) =>
      startV2ray(
        [V2RAY_SOCKS_IN],
        [
          {
            protocol: 'shadowsocks',
            settings: {
              servers: [{ address: '127.0.0.1', port: portOf(weir), method, password: PASSWORD }],
            },
          },
        ],
      ),
  });
}

pair('shadowsocks-libev, the second of two users', without('ss-server', 'ss-local'), {
  method: 'aes-256-gcm',
  password: PASSWORD,
  inbound: ssIn('aes-256-gcm', 'ignored', ['first', PASSWORD]),
  client: (weir) => startSsLocal(weir, 'aes-256-gcm', PASSWORD),
});

for (const [method, password, users] of MODERN) {
  const skip = without('ssserver', 'sslocal');
  pair(`shadowsocks-rust, ${method}`, skip, {
    method,
    password,
    inbound: ssIn(method, password),
    halfClose: true,
    server: () => startRustServer(method, password),
    client: (weir) => startRustLocal(weir, method, password),
  });
  const [, second] = users;
  if (second === undefined) continue;
  const chain = `${password}:${second}`;
  pair(`shadowsocks-rust, ${method}, the second of two users`, skip, {
    method,
    password: chain,
    inbound: ssIn(method, password, users),
    halfClose: true,
    server: () =>
      startRustServer(
        method,
        password,
        users.map((password, i) => ({ name: `user${i}`, password })),
      ),
    client: (weir) => startRustLocal(weir, method, chain),
  });
}
