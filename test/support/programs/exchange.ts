import assert from 'node:assert/strict';
import { curl } from './curl.ts';
import { bodyOf, receiveBody, sendBody } from '../data/pattern.ts';
import { readAll, readExactly, roundTrip } from '../read.ts';
import {
  digestServer,
  sendFirstServer,
  webBody,
  type Origin,
  echoServer,
} from '../peers/servers.ts';
import type { Address } from '../data/address.ts';
import type { Socket } from 'node:net';
import { socksConnect, type SocksOptions, socksConnectSaying } from '../peers/socks-client.ts';
import { UdpAssociation } from '../peers/socks-udp.ts';
import { within } from '../wait.ts';

/** The exchanges that tests run through a chain of proxies. */

/** A body of `bytes` down and up through curl with the proxy arguments given. */
export async function bothWays(
  proxy: readonly string[],
  web: Origin,
  bytes: number,
): Promise<void> {
  const site = `http://127.0.0.1:${web.port}`;
  const down = await curl([...proxy, `${site}/bytes/${bytes}`]);
  assert.deepEqual([down.code, down.stderr], [0, '']);
  assert.deepEqual(down.body, webBody(bytes));
  const up = await curl([...proxy, '-T', '-', `${site}/digest`], bytes);
  assert.deepEqual([up.code, up.stderr], [0, '']);
  assert.deepEqual(JSON.parse(up.text), bodyOf(bytes));
}

/** How a client gets a connection to a server through what is tested. */
export type Tunnel = (to: Origin) => Promise<Socket>;

/** More than the buffers of a chain hold, so that some of it is under way when an end arrives. */
const HALF_CLOSED = 4 << 20;

/** The client half-closes first and still receives the response. */
export async function clientEndsFirst(tunnel: Tunnel): Promise<void> {
  await using server = await digestServer();
  const client = await tunnel(server);
  try {
    const sent = await sendBody(client, HALF_CLOSED);
    client.end();
    assert.deepEqual(JSON.parse(String((await readAll(client)).data)), sent);
  } finally {
    client.destroy();
  }
}

/** The server ends first and still gets all. */
export async function serverEndsFirst(tunnel: Tunnel): Promise<void> {
  await using server = await sendFirstServer(HALF_CLOSED);
  const client = await tunnel(server);
  try {
    const first = await within(receiveBody(client), 'the end of what the server sends');
    assert.deepEqual(first, bodyOf(HALF_CLOSED));
    await sendBody(client, HALF_CLOSED / 2, 2);
    client.end();
    const received = await within(server.received, 'the rest of what the client sends');
    assert.deepEqual(received, bodyOf(HALF_CLOSED / 2, 2));
  } finally {
    client.destroy();
  }
}

export async function halfCloses(tunnel: Tunnel): Promise<void> {
  await clientEndsFirst(tunnel);
  await serverEndsFirst(tunnel);
}

/** The same over SOCKS5. */
export const socksHalfCloses = (proxy: Address): Promise<void> =>
  halfCloses((to) => socksConnect(proxy, to.target));

/** Datagrams to two servers and back over one association. */
export async function datagrams(
  proxy: Address,
  servers: readonly Origin[],
  options: SocksOptions = {},
): Promise<void> {
  using association = await UdpAssociation.open(proxy, options);
  for (const server of servers) {
    for (const size of [1, 500, 1400]) {
      const data = Buffer.alloc(size, size & 0xff);
      association.send(server.target, data);
      const reply = await association.receive();
      assert.deepEqual(reply.data, data);
      assert.deepEqual([reply.from.host, reply.from.port], [server.host, server.port]);
    }
  }
}

/**
 * Opens `count` streams to one server at the same time, each with a payload of its own. `inOneGo`
 * sends the payload along with the request, for clients that do not wait for the first bytes.
 */
export async function manyStreams(socks: Address, count: number, inOneGo = false): Promise<void> {
  await using echo = await echoServer();
  const words = (i: number): string => `stream ${i}`;
  const connect = (i: number): Promise<Socket> =>
    inOneGo ? socksConnectSaying(words(i), socks, echo.target) : socksConnect(socks, echo.target);
  const sockets = await Promise.all(Array.from({ length: count }, (_, i) => connect(i)));
  await Promise.all(
    sockets.map(async (socket, i) => {
      const text = words(i);
      const reply = inOneGo ? readExactly(socket, text.length) : roundTrip(socket, text);
      assert.equal(String(await reply), text);
    }),
  );
  for (const socket of sockets) socket.destroy();
}
