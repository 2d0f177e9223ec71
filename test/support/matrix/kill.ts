import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { receiveBody } from '../data/pattern.ts';
import { readExactly, readHead, roundTrip } from '../read.ts';
import { echoServer, webServer } from '../peers/servers.ts';
import { socksConnect } from '../peers/socks-client.ts';
import { eventually, within } from '../wait.ts';
import type { Address } from '../data/address.ts';

/** More than is transferred before the server dies. */
const ENDLESS = 2 ** 40;
const MOVED = 1 << 20;

/** What the client of a dead server sees: an abort, either an abort or an end of stream, or it
 * is not checked. */
export type DeathSign = 'abort' | 'any end' | 'not checked';

/**
 * A download during which the server end dies: the client never receives the whole body. `kill` kills
 * the server end and is called in the middle.
 */
export async function killedInTheMiddle(
  socks: Address,
  kill: () => Promise<void>,
  sign: DeathSign,
): Promise<void> {
  await using web = await webServer();
  const client = await socksConnect(socks, web.target);
  client.write(`GET /bytes/${ENDLESS} HTTP/1.1\r\nHost: origin\r\n\r\n`);
  assert.match(await readHead(client), new RegExp(`content-length: ${ENDLESS}\r\n`, 'i'));
  await readExactly(client, MOVED);
  await kill();
  try {
    if (sign === 'not checked') return;
    const seen = receiveBody(client).then(
      () => 'an end',
      (error: unknown) => String(error),
    );
    const end = await within(seen, 'the end of the connection through a dead server');
    if (sign === 'abort') assert.match(end, /^Error: aborted after/);
  } finally {
    client.destroy();
  }
}

/** Polls until a new connection works: some peers wait a little before they dial again. */
export async function worksAgain(socks: Address): Promise<void> {
  await using echo = await echoServer();
  const PATIENCE_MS = 30_000;
  await eventually(
    'a new connection to work',
    async () => {
      let socket: Socket | undefined;
      try {
        socket = await socksConnect(socks, echo.target);
        return String(await roundTrip(socket, 'hello again')) === 'hello again';
      } catch {
        return false;
      } finally {
        socket?.destroy();
      }
    },
    PATIENCE_MS,
  );
}
