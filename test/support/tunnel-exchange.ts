import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { hostPort, type Address } from './address.ts';
import { bothWays, datagrams } from './exchange.ts';
import { roundTrip } from './read.ts';
import { echoServer, udpEcho, webServer } from './servers.ts';
import { socksConnect } from './socks-client.ts';

const BODY = 128 << 20;
const STREAMS = 1000;

/** What peers are put through behind a SOCKS proxy: large bodies, datagrams, many streams. */
export async function exercise(t: TestContext, name: string, socks: Address): Promise<void> {
  await t.test(`${name}: a body both ways`, async () => {
    await using web = await webServer();
    await bothWays(['-x', `socks5h://${hostPort(socks)}`], web, BODY);
  });
  await t.test(`${name}: datagrams`, async () => {
    await using first = await udpEcho();
    await using second = await udpEcho();
    await datagrams(socks, [first, second]);
  });
  await t.test(`${name}: ${STREAMS} streams at once`, () => manyStreams(socks, STREAMS));
}

/** So many streams to one server, all open at the same time, each with its own words. */
export async function manyStreams(socks: Address, count: number): Promise<void> {
  await using echo = await echoServer();
  const sockets = await Promise.all(
    Array.from({ length: count }, () => socksConnect(socks, echo.target)),
  );
  await Promise.all(
    sockets.map(async (socket, i) => {
      const text = `stream ${i}`;
      assert.equal(String(await roundTrip(socket, text)), text);
    }),
  );
  for (const socket of sockets) socket.destroy();
}
