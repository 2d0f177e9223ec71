import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import type { Address } from './address.ts';
import { readExactly, roundTrip } from './read.ts';
import { echoServer } from './servers.ts';
import { socksConnect, socksConnectSaying } from './socks-client.ts';

/**
 * So many streams to one server, all open at the same time, each with its own words. `inOneGo` sends
 * them with the request, for those who would not wait for them.
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
      const answer = inOneGo ? readExactly(socket, text.length) : roundTrip(socket, text);
      assert.equal(String(await answer), text);
    }),
  );
  for (const socket of sockets) socket.destroy();
}
