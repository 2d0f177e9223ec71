import assert from 'node:assert/strict';
import test from 'node:test';
import { hostPort, type Address } from '../support/address.ts';
import { freedom, httpIn, proxyOut, socksIn } from '../support/config.ts';
import { bothWays, datagrams } from '../support/exchange.ts';
import { httpTunnel } from '../support/http-client.ts';
import { startV2ray, v2rayOut, V2RAY_SOCKS_IN, without } from '../support/peers.ts';
import { roundTrip } from '../support/read.ts';
import { echoServer, udpEcho, webServer } from '../support/servers.ts';
import { socksConnect } from '../support/socks-client.ts';
import { Weir } from '../support/weir.ts';

const MB = 1 << 20;
const BODY = 128 * MB;
const LOGIN = { user: 'mia', pass: 's3cret' };
const SETTINGS = 'user = "mia"\npass = "s3cret"';

const V2RAY_INBOUNDS = [
  V2RAY_SOCKS_IN,
  {
    protocol: 'socks',
    settings: { auth: 'password', accounts: [LOGIN], udp: true, ip: '127.0.0.1' },
  },
  { protocol: 'http', settings: {} },
  { protocol: 'http', settings: { accounts: [LOGIN] } },
];

const skip = without('v2ray');

test('Weir as a client of v2ray', { skip }, async (t) => {
  await using v2ray = await startV2ray(V2RAY_INBOUNDS);
  await using web = await webServer();
  const ways = [
    ['socks', 'socks', ''],
    ['socks with a password', 'socks', SETTINGS],
    ['http', 'http', ''],
    ['http with a password', 'http', SETTINGS],
  ] as const;
  for (const [i, [name, protocol, settings]] of ways.entries()) {
    const server = at(v2ray.addresses, i);
    await using weir = await Weir.start(socksIn() + proxyOut('out', protocol, server, settings));
    const socks = weir.address('socks');
    await t.test(`${name}: a body both ways`, () =>
      bothWays(['-x', `socks5h://${hostPort(socks)}`], web, BODY),
    );
    if (protocol === 'http') continue;
    await t.test(`${name}: datagrams`, async () => {
      await using first = await udpEcho();
      await using second = await udpEcho();
      await datagrams(socks, [first, second]);
    });
  }
});

test('v2ray as a client of Weir', { skip }, async (t) => {
  const accounts = 'accounts = [{ user = "mia", pass = "s3cret" }]';
  const config = [
    socksIn(),
    socksIn('socks-login', `[inbound.settings]\nauth = "password"\n${accounts}`),
    httpIn(),
    httpIn('http-login', `[inbound.settings]\n${accounts}`),
    freedom(),
  ].join('\n');
  await using weir = await Weir.start(config);
  await using web = await webServer();
  for (const [inbound, protocol, login] of [
    ['socks', 'socks', undefined],
    ['socks-login', 'socks', LOGIN],
    ['http', 'http', undefined],
    ['http-login', 'http', LOGIN],
  ] as const) {
    const out = v2rayOut(protocol, weir.address(inbound), login);
    await using v2ray = await startV2ray([V2RAY_SOCKS_IN], [out]);
    await t.test(`${inbound}: a body both ways`, () =>
      bothWays(['-x', `socks5h://${hostPort(v2ray.address)}`], web, BODY),
    );
    if (protocol === 'http') continue;
    await t.test(`${inbound}: datagrams`, async () => {
      await using first = await udpEcho();
      await using second = await udpEcho();
      await datagrams(v2ray.address, [first, second]);
    });
  }
});

test('many connections at once through Weir and v2ray', { skip }, async () => {
  await using v2ray = await startV2ray(V2RAY_INBOUNDS);
  await using echo = await echoServer();
  const config = socksIn() + httpIn() + proxyOut('out', 'socks', v2ray.address);
  await using weir = await Weir.start(config);
  const one = async (i: number): Promise<void> => {
    const socket =
      i % 2 === 0
        ? await socksConnect(weir.address('socks'), echo.target)
        : await httpTunnel(weir.address('http'), hostPort(echo));
    const text = `connection ${i}`;
    assert.equal(String(await roundTrip(socket, text)), text);
    socket.destroy();
  };
  await Promise.all(Array.from({ length: 300 }, (_, i) => one(i)));
});

function at(addresses: readonly Address[], index: number): Address {
  const address = addresses[index];
  if (!address) throw new Error(`no address ${index}`);
  return address;
}
