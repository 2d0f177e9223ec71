import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { API, Control } from '../support/process/control.ts';
import { freedom, proxyOut, socksIn } from '../support/process/config.ts';
import { Weir } from '../support/process/weir.ts';
import { freePort } from '../support/ports.ts';
import { echoServer, tcpServer, udpEcho, type Origin } from '../support/peers/servers.ts';
import { socksConnect, socksReply } from '../support/peers/socks-client.ts';
import { SocksServer } from '../support/peers/socks-server.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
import { roundTrip } from '../support/read.ts';
import { eventually } from '../support/wait.ts';
import { GRPC_TLS, TLS, WS_TLS, wayTitle, type Way } from '../support/ways/way.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';
import { shared } from '../support/shared.ts';

/*
 * A member that dies between two probes, which are five minutes apart: what its failed dials change.
 */

const GROUP = (strategy = 'failover'): string =>
  `[[balancer]]\ntag = "group"\noutbounds = ["first", "second"]\nprobe_interval = 300\n` +
  `strategy = "${strategy}"\n[route]\ndefault = "group"\n`;
const DEBUG = { env: { RUST_LOG: 'debug' } };

/** A Weir whose group knows both members as available. */
async function startGroup(members: string, strategy?: string): Promise<Control> {
  const weir = await Weir.start(API + socksIn() + members + GROUP(strategy), DEBUG);
  const control = await Control.of(weir);
  for (const tag of ['first', 'second']) {
    await control.logged(`balancer group: outbound ${tag} is available`);
  }
  return control;
}

const WAYS: readonly Way[] = [
  { protocol: 'socks', login: true },
  { protocol: 'http', login: true },
  { protocol: 'trojan', carrier: TLS },
  { protocol: 'vless' },
  { protocol: 'vless', carrier: WS_TLS },
  { protocol: 'vless', carrier: GRPC_TLS },
  { protocol: 'vmess', cipher: 'aes-128-gcm' },
  { protocol: 'shadowsocks', cipher: 'aes-128-gcm' },
];

/** Servers that let a probe connect, and what they do when a flow comes. */
const BROKEN: Readonly<Record<string, () => Promise<Origin>>> = {
  'that closes each connection': () => tcpServer((socket) => void socket.end()),
  'of another protocol': () => tcpServer((socket) => void socket.end('SSH-2.0-x\r\n')),
};

describe('a failover group whose first member', () => {
  /** The second member's server, by each way. */
  let live: Weir;
  shared(async (use) => {
    live = use(
      await Weir.start(WAYS.map((way) => weirIn(way, { tag: wayTitle(way) })).join('') + freedom()),
    );
  });
  const second = (way: Way): string => weirOut(way, live.address(wayTitle(way)), { tag: 'second' });

  for (const way of WAYS) {
    test(`refuses, by ${wayTitle(way)}, serves every flow by the second`, async () => {
      await using echo = await echoServer();
      await using datagrams = await udpEcho();
      const dying = await tcpServer((socket) => void socket.resume());
      const control = await startGroup(weirOut(way, dying, { tag: 'first' }) + second(way));
      await using _weir = control.weir;
      await dying[Symbol.asyncDispose]();

      const proxy = control.weir.address('socks');
      const datagram = async (): Promise<void> => {
        using association = await UdpAssociation.open(proxy);
        // The first one is delivered as well.
        association.send(datagrams.target, 'hello');
        assert.equal(String((await association.receive()).data), 'hello');
        const flow = (await control.connections()).flows.find(({ network }) => network === 'udp');
        assert.equal(flow?.outbound, 'second');
      };
      // Shadowsocks sends datagrams without a connection: streams and probes alone show that its server is dead.
      if (!/http|shadowsocks/.test(way.protocol)) await datagram();
      const socket = await socksConnect(proxy, echo.target);
      await roundTrip(socket, 'hello');
      const [flow] = await control.flowsTo(echo.host);
      assert.equal(flow?.outbound, 'second');
      socket.destroy();
      await control.logged('WARN svc_app: balancer group: outbound first is unavailable: ');
      if (way.protocol === 'shadowsocks') await datagram();
      assert.match(
        control.lines.join('\n'),
        /^INFO svc_app: balancer group: outbound first was not reached: 127\.0\.0\.1:\d+: connection refused; the flow goes on by second$/m,
      );
      // Later flows do not try it.
      (await socksConnect(proxy, echo.target)).destroy();
      assert.equal(control.count('was not reached'), 1);
    });
  }

  for (const [what, start] of Object.entries(BROKEN)) {
    // Other protocols have no response before the destination's.
    for (const way of WAYS.filter(({ carrier, login }) => carrier ?? login)) {
      test(`is one ${what}, by ${wayTitle(way)}, serves every flow by the second`, async () => {
        await using echo = await echoServer();
        await using broken = await start();
        const control = await startGroup(weirOut(way, broken, { tag: 'first' }) + second(way));
        await using _weir = control.weir;
        for (let i = 0; i < 3; i++) {
          const socket = await socksConnect(control.weir.address('socks'), echo.target);
          await roundTrip(socket, 'hello');
          assert.equal((await control.flowsTo(echo.host))[0]?.outbound, 'second');
          socket.destroy();
          await eventually('its end', async () => (await control.flowsTo(echo.host)).length === 0);
        }
      });
    }
  }

  for (const way of [WAYS[0], WAYS[1]] as readonly Way[]) {
    test(`rejects the password, by ${wayTitle(way)}, serves every flow by the second`, async () => {
      await using echo = await echoServer();
      const first = weirOut(way, live.address(wayTitle(way)), {
        tag: 'first',
        settings: 'user = "mia"\npass = "wrong"',
      });
      const control = await startGroup(first + second(way));
      await using _weir = control.weir;
      await roundTrip(await socksConnect(control.weir.address('socks'), echo.target), 'hello');
      assert.match(control.lines.join('\n'), /outbound first was not reached: .*reject/);
    });
  }
});

/** A group of two SOCKS servers. */
async function socksGroup(strategy?: string) {
  const [first, second] = [await SocksServer.start(), await SocksServer.start()];
  const members =
    proxyOut('first', 'socks', first.address) + proxyOut('second', 'socks', second.address);
  return { first, second, control: await startGroup(members, strategy) };
}

test('what a server reports about a destination is final, and no other member is asked', async () => {
  const { first, second, control } = await socksGroup();
  await using _a = first;
  await using _b = second;
  await using _weir = control.weir;
  const target = { host: '127.0.0.1', port: await freePort() };
  assert.notEqual(await socksReply(control.weir.address('socks'), target), 0);
  assert.deepEqual([first.targets.length, second.targets.length], [1, 0]);
  assert.equal(control.count('was not reached'), 0);
});

test('members that were all down serve again with the first flow, which their probes follow', async () => {
  const { first, second, control } = await socksGroup();
  await using _a = first;
  await using _b = second;
  await using echo = await echoServer();
  await using _weir = control.weir;
  const proxy = control.weir.address('socks');
  await first.kill();
  await second.kill();
  assert.notEqual(await socksReply(proxy, echo.target), 0);
  for (const tag of ['first', 'second']) await control.logged(`outbound ${tag} is unavailable`);
  await second.revive();
  await roundTrip(await socksConnect(proxy, echo.target), 'hello');
  await control.logged('balancer group: outbound second is available again');
});

test('round robin tries no other member, and probes the one that failed at once', async () => {
  const { first, second, control } = await socksGroup('round_robin');
  await using _a = first;
  await using _b = second;
  await using echo = await echoServer();
  await using _weir = control.weir;
  const proxy = control.weir.address('socks');
  await first.kill();
  const replies = [await socksReply(proxy, echo.target), await socksReply(proxy, echo.target)];
  assert.deepEqual(new Set(replies), new Set([0, 5]));
  await control.logged('balancer group: outbound first is unavailable');
  for (let i = 0; i < 4; i++) assert.equal(await socksReply(proxy, echo.target), 0);
});
