import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { hostPort, portOf, type Address } from '../support/address.ts';
import { freedom, socksIn } from '../support/config.ts';
import { bothWays, datagrams, socksHalfCloses } from '../support/exchange.ts';
import { startV2ray, V2RAY_SOCKS_IN, without } from '../support/peers.ts';
import { roundTrip } from '../support/read.ts';
import { echoServer, udpEcho, webServer } from '../support/servers.ts';
import { socksConnect } from '../support/socks-client.ts';
import { Weir } from '../support/weir.ts';

const MB = 1 << 20;
const BODY = 64 * MB;
const SECURITIES = ['aes-128-gcm', 'chacha20-poly1305'] as const;
const ID = randomUUID();

const skip = without('v2ray');

const v2rayIn = { protocol: 'vmess', settings: { clients: [{ id: ID, alterId: 0 }] } };

const v2rayOut = (to: Address, security: string, id = ID, mux = 0): object => ({
  protocol: 'vmess',
  settings: {
    vnext: [{ address: '127.0.0.1', port: portOf(to), users: [{ id, alterId: 0, security }] }],
  },
  mux: { enabled: mux > 0, concurrency: mux || 8 },
});

const vmessIn = (...ids: readonly string[]): string =>
  `[[inbound]]\ntag = "vmess"\nprotocol = "vmess"\nport = 0\n` +
  ids.map((id) => `[[inbound.settings.users]]\nid = "${id}"\n`).join('');

const vmessOut = (to: Address, security: string, id = ID): string =>
  `[[outbound]]\ntag = "out"\nprotocol = "vmess"\nserver = "127.0.0.1"\nport = ${portOf(to)}\n` +
  `[outbound.settings]\nid = "${id}"\nsecurity = "${security}"\n`;

test('Weir as a client of v2ray', { skip }, async (t) => {
  await using v2ray = await startV2ray([v2rayIn]);
  await using web = await webServer();
  for (const security of SECURITIES) {
    await using weir = await Weir.start(socksIn() + vmessOut(v2ray.address, security));
    const socks = weir.address('socks');
    await t.test(`${security}: a body both ways`, () =>
      bothWays(['-x', `socks5h://${hostPort(socks)}`], web, BODY),
    );
    await t.test(`${security}: half-closes`, () => socksHalfCloses(socks));
    await t.test(`${security}: datagrams`, async () => {
      await using first = await udpEcho();
      await using second = await udpEcho();
      await datagrams(socks, [first, second]);
    });
  }
});

test('v2ray as a client of Weir', { skip }, async (t) => {
  await using weir = await Weir.start(vmessIn(randomUUID(), ID) + freedom());
  await using web = await webServer();
  for (const security of SECURITIES) {
    const out = v2rayOut(weir.address('vmess'), security);
    await using v2ray = await startV2ray([V2RAY_SOCKS_IN], [out]);
    await t.test(`${security}: a body both ways`, () =>
      bothWays(['-x', `socks5h://${hostPort(v2ray.address)}`], web, BODY),
    );
    await t.test(`${security}: half-closes`, () => socksHalfCloses(v2ray.address));
    await t.test(`${security}: datagrams`, async () => {
      await using first = await udpEcho();
      await using second = await udpEcho();
      await datagrams(v2ray.address, [first, second]);
    });
  }
});

test('many streams at once', { skip }, async (t) => {
  await using echo = await echoServer();
  const many = async (socks: Address): Promise<void> => {
    const one = async (i: number): Promise<void> => {
      const socket = await socksConnect(socks, echo.target);
      const text = `connection ${i}`;
      assert.equal(String(await roundTrip(socket, text)), text);
      socket.destroy();
    };
    await Promise.all(Array.from({ length: 200 }, (_, i) => one(i)));
  };
  await t.test('into v2ray', async () => {
    await using v2ray = await startV2ray([v2rayIn]);
    await using weir = await Weir.start(socksIn() + vmessOut(v2ray.address, 'aes-128-gcm'));
    await many(weir.address('socks'));
  });
  await t.test('out of v2ray', async () => {
    await using weir = await Weir.start(vmessIn(ID) + freedom());
    const out = v2rayOut(weir.address('vmess'), 'chacha20-poly1305');
    await using v2ray = await startV2ray([V2RAY_SOCKS_IN], [out]);
    await many(v2ray.address);
  });
});
