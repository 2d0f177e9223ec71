import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import type { Tunnel } from '../programs/exchange.ts';
import { clientEndsFirst, serverEndsFirst } from '../programs/exchange.ts';
import { tcpServer, type Origin } from '../peers/servers.ts';
import { readAll } from '../read.ts';
import { within } from '../wait.ts';

/** The ends of a flow, each in one direction: what the other side has to see of it. */

/** What a side sends before its reset: it fits into the buffers of a kernel whose peer does not read. */
const WORDS: Buffer = Buffer.alloc(20_068, 'the last words ');
/** Connections at once: a race that loses bytes loses those of some of them. */
const TIMES = 20;

/** How a stream looks that was reset by the other side: all that came before, and no clean end. */
interface Seen {
  readonly bytes: number;
  readonly clean: boolean;
}

/** What a socket reads to its end, whose bytes must be those of WORDS. */
async function seenBy(socket: Socket): Promise<Seen> {
  const { data, clean } = await readAll(socket);
  socket.destroy();
  assert.ok(WORDS.subarray(0, data.length).equals(data), 'other bytes arrived');
  return { bytes: data.length, clean };
}

/** Does the same over `TIMES` connections, and expects the same of each. */
async function eachTime(expected: Seen, once: () => Promise<Seen>): Promise<void> {
  const seen = await Promise.all(Array.from({ length: TIMES }, once));
  const others = seen.filter((one) => one.bytes !== expected.bytes || one.clean !== expected.clean);
  assert.deepEqual(others, [], `${others.length} of ${TIMES} connections ended otherwise`);
}

/** Sends WORDS, and resets the connection once the kernel has taken them. */
function speakAndReset(socket: Socket, words = WORDS): void {
  socket.write(words, () => socket.resetAndDestroy());
}

async function serverResets(tunnel: Tunnel, words: Buffer): Promise<void> {
  await using server = await tcpServer((socket) => {
    // The upload is not read any more: the usual reason for such a reset.
    socket.once('readable', () => {
      if (words.length > 0) speakAndReset(socket, words);
      else socket.resetAndDestroy();
    });
  });
  await eachTime({ bytes: words.length, clean: false }, async () => {
    const client = await tunnel(server);
    client.on('error', () => undefined).write(Buffer.alloc(3000, 'a request '));
    return seenBy(client);
  });
}

/** A server that passes on every connection as soon as it is accepted. */
async function passing(): Promise<Origin & { readonly next: () => Promise<Socket> }> {
  const waiting: Socket[] = [];
  const takers: ((socket: Socket) => void)[] = [];
  const origin = await tcpServer((socket) => {
    const taker = takers.shift();
    if (taker) taker(socket);
    else waiting.push(socket);
  });
  const next = (): Promise<Socket> => {
    const socket = waiting.shift();
    if (socket) return Promise.resolve(socket);
    return within(new Promise((resolve) => takers.push(resolve)), 'a connection at the server');
  };
  return { ...origin, next };
}

async function clientResets(tunnel: Tunnel, words: Buffer): Promise<void> {
  await using server = await passing();
  await eachTime({ bytes: words.length, clean: false }, async () => {
    const client = await tunnel(server);
    client.on('error', () => undefined);
    const arrived = server.next();
    // Some programs dial only when their client has sent something.
    if (words.length > 0) speakAndReset(client, words);
    const socket = await arrived;
    if (words.length === 0) client.resetAndDestroy();
    return seenBy(socket);
  });
}

/** The server is reset while it sends more than the client takes. */
async function serverResetsInData(tunnel: Tunnel): Promise<void> {
  await using server = await passing();
  const client = await tunnel(server);
  client.on('error', () => undefined).write('a request');
  const socket = await server.next();
  const flood = (): void => {
    while (!socket.destroyed && socket.write(WORDS));
  };
  socket.on('drain', flood);
  flood();
  await new Promise((resolve) => client.once('readable', resolve));
  socket.resetAndDestroy();
  const { data, clean } = await readAll(client);
  client.destroy();
  assert.equal(clean, false);
  assert.ok(data.length > 0);
}

export type EndName =
  | 'the client ends first'
  | 'the server ends first'
  | 'the server resets before data'
  | 'the server resets in data'
  | 'the server resets after data'
  | 'the client resets before data'
  | 'the client resets after data';

/** A clean end each way comes with the half-closes, after the other side's. */
export const ENDS: Readonly<Record<EndName, (tunnel: Tunnel) => Promise<void>>> = {
  'the client ends first': clientEndsFirst,
  'the server ends first': serverEndsFirst,
  'the server resets before data': (tunnel) => serverResets(tunnel, Buffer.alloc(0)),
  'the server resets in data': serverResetsInData,
  'the server resets after data': (tunnel) => serverResets(tunnel, WORDS),
  'the client resets before data': (tunnel) => clientResets(tunnel, Buffer.alloc(0)),
  'the client resets after data': (tunnel) => clientResets(tunnel, WORDS),
};
