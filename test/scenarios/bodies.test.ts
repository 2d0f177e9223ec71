import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import test from 'node:test';
import { disposable, hostPort, open } from '../support/data/address.ts';
import { freedom, httpIn, socksIn } from '../support/process/config.ts';
import { httpTunnel } from '../support/peers/http-client.ts';
import { bodyOf, receiveBody, sendBody } from '../support/data/pattern.ts';
import { readAll, readExactly, readHead } from '../support/read.ts';
import {
  bannerServer,
  digestServer,
  echoServer,
  sendFirstServer,
  tcpServer,
} from '../support/peers/servers.ts';
import { encodeAddress, socksConnect, type Target } from '../support/peers/socks-client.ts';
import { Weir } from '../support/process/weir.ts';

const MB = 1 << 20;
const CONFIG = socksIn() + httpIn() + freedom();

/** A tunnel through the program to a target, over each protocol that has tunnels. */
const TUNNELS: readonly (readonly [string, (weir: Weir, to: Target) => Promise<Socket>])[] = [
  ['SOCKS4', (weir, to) => socksConnect(weir.address('socks'), to, { version: '4' })],
  ['SOCKS4a', (weir, to) => socksConnect(weir.address('socks'), to, { version: '4a' })],
  ['SOCKS5', (weir, to) => socksConnect(weir.address('socks'), to)],
  ['HTTP CONNECT', (weir, to) => httpTunnel(weir.address('http'), hostPort(to))],
];

test('bytes arrive whole and ends are passed on, each direction by itself', async (t) => {
  await using weir = await Weir.start(CONFIG);
  for (const [name, tunnel] of TUNNELS) {
    await t.test(`${name}: the client half-closes first and still gets its response`, async () => {
      await using server = await digestServer();
      const client = await tunnel(weir, server.target);
      const sent = await sendBody(client, 16 * MB);
      client.end();
      const { data, clean } = await readAll(client);
      assert.deepEqual([JSON.parse(String(data)), clean], [sent, true]);
    });

    await t.test(`${name}: the server half-closes first and still gets the rest`, async () => {
      await using server = await sendFirstServer(16 * MB);
      const client = await tunnel(weir, server.target);
      assert.deepEqual(await receiveBody(client), bodyOf(16 * MB));
      await sendBody(client, 8 * MB, 2);
      client.end();
      assert.deepEqual(await server.received, bodyOf(8 * MB, 2));
    });

    await t.test(`${name}: both directions at once`, async () => {
      await using server = await echoServer();
      const client = await tunnel(weir, server.target);
      const back = receiveBody(client);
      const sent = await sendBody(client, 16 * MB);
      client.end();
      assert.deepEqual(await back, sent);
    });

    await t.test(`${name}: a server that sends first and closes`, async () => {
      await using server = await bannerServer('welcome and goodbye');
      const client = await tunnel(weir, server.target);
      const { data, clean } = await readAll(client);
      assert.deepEqual([String(data), clean], ['welcome and goodbye', true]);
      client.destroy();
    });
  }
});

test('a connection that the server resets is reset for the client as well, not ended cleanly', async () => {
  await using weir = await Weir.start(CONFIG);
  await using server = await tcpServer((socket) => {
    socket.write('the first half of some');
    socket.once('data', () => socket.resetAndDestroy());
  });
  const client = await socksConnect(weir.address('socks'), server.target);
  client.write('go on');
  assert.equal((await readAll(client)).clean, false);
});

test('bytes in the same segment as the handshake are the first of the payload', async (t) => {
  await using weir = await Weir.start(CONFIG);
  await using echo = await echoServer();
  const address = encodeAddress(echo.target);
  // SOCKS4 writes the port before the address, and SOCKS5 the type before both.
  const [host, port] = [address.subarray(1, 5), address.subarray(5)];
  const connect = `CONNECT ${hostPort(echo)} HTTP/1.1\r\nHost: ${hostPort(echo)}\r\n\r\n`;
  const handshakes = [
    ['SOCKS4', 'socks', Buffer.concat([Buffer.from([4, 1]), port, host, Buffer.from([0])]), 8],
    ['SOCKS5', 'socks', Buffer.concat([Buffer.from([5, 1, 0, 5, 1, 0]), address]), 12],
    ['HTTP CONNECT', 'http', Buffer.from(connect), undefined],
  ] as const;
  for (const [name, inbound, bytes, reply] of handshakes) {
    await t.test(name, async () => {
      using client = disposable(await open(weir.address(inbound)));
      client.write(Buffer.concat([bytes, Buffer.from('payload')]));
      if (reply === undefined) await readHead(client);
      else await readExactly(client, reply);
      assert.equal(String(await readExactly(client, 7)), 'payload');
    });
  }
});
