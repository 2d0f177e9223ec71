import assert from 'node:assert/strict';
import test from 'node:test';
import { hostPort, type Address } from '../support/address.ts';
import { freedom, socksIn } from '../support/config.ts';
import { bothWays, datagrams } from '../support/exchange.ts';
import { startV2ray, V2RAY_SOCKS_IN, without } from '../support/peers.ts';
import { roundTrip } from '../support/read.ts';
import { echoServer, udpEcho, webServer } from '../support/servers.ts';
import { socksConnect } from '../support/socks-client.ts';
import {
  tunnelIn,
  tunnelOut,
  v2rayTunnelIn,
  v2rayTunnelOut,
  type Tunnel,
} from '../support/tunnels.ts';
import { Weir } from '../support/weir.ts';

const BODY = 128 << 20;
const STREAMS = 1000;

/** Bodies, datagrams and many streams at once through a SOCKS proxy. */
async function exercise(t: test.TestContext, name: string, socks: Address): Promise<void> {
  await t.test(`${name}: a body both ways`, async () => {
    await using web = await webServer();
    await bothWays(['-x', `socks5h://${hostPort(socks)}`], web, BODY);
  });
  await t.test(`${name}: datagrams`, async () => {
    await using first = await udpEcho();
    await using second = await udpEcho();
    await datagrams(socks, [first, second]);
  });
  await t.test(`${name}: ${STREAMS} streams at once`, async () => {
    await using echo = await echoServer();
    const sockets = await Promise.all(
      Array.from({ length: STREAMS }, () => socksConnect(socks, echo.target)),
    );
    await Promise.all(
      sockets.map(async (socket, i) => {
        const text = `stream ${i}`;
        assert.equal(String(await roundTrip(socket, text)), text);
      }),
    );
    for (const socket of sockets) socket.destroy();
  });
}

const TUNNELS: readonly Tunnel[] = ['trojan', 'vless'];
const skip = without('v2ray');

test('Weir as a client of v2ray', { skip }, async (t) => {
  await using v2ray = await startV2ray(TUNNELS.map(v2rayTunnelIn));
  for (const [i, protocol] of TUNNELS.entries()) {
    const server = v2ray.addresses[i];
    assert.ok(server);
    await using weir = await Weir.start(socksIn() + tunnelOut(protocol, server));
    await exercise(t, protocol, weir.address('socks'));
  }
});

test('v2ray as a client of Weir', { skip }, async (t) => {
  await using weir = await Weir.start(
    [...TUNNELS.map((protocol) => tunnelIn(protocol)), freedom()].join('\n'),
  );
  const ways = [
    ['trojan', 0],
    ['vless', 0],
    ['vless', 8],
    ['vless', 1024],
  ] as const;
  for (const [protocol, mux] of ways) {
    const out = v2rayTunnelOut(protocol, weir.address(protocol), mux);
    await using v2ray = await startV2ray([V2RAY_SOCKS_IN], [out]);
    const name = mux === 0 ? protocol : `${protocol} with mux, ${mux} flows a connection`;
    await exercise(t, name, v2ray.address);
  }
});
