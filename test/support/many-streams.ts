import assert from 'node:assert/strict';
import type { Address } from './address.ts';
import { roundTrip } from './read.ts';
import { echoServer } from './servers.ts';
import { socksConnect } from './socks-client.ts';

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
