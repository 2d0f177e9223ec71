import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import type { Tunnel } from '../programs/exchange.ts';
import { clientEndsFirst, serverEndsFirst } from '../programs/exchange.ts';
import { tcpServer } from '../peers/servers.ts';
import { readAll, readExactly } from '../read.ts';
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

function allAre(expected: Seen, seen: readonly Seen[]): void {
  const others = seen.filter((one) => one.bytes !== expected.bytes || one.clean !== expected.clean);
  assert.deepEqual(others, [], `${others.length} of ${TIMES} connections ended otherwise`);
}

/** Sends `words`, and resets the connection once the kernel has sent them, which Nagle's algorithm would delay. */
function speakAndReset(socket: Socket, words: Buffer): void {
  socket.setNoDelay();
  socket.write(words, () => socket.resetAndDestroy());
}

/** What every client looked like whose server sends `words`, and then resets the connection. */
async function seenAtClients(tunnel: Tunnel, words: Buffer): Promise<Seen[]> {
  await using server = await tcpServer((socket) => {
    // The upload is not read any more: the usual reason for such a reset.
    socket.once('readable', () => {
      if (words.length > 0) speakAndReset(socket, words);
      else socket.resetAndDestroy();
    });
  });
  const once = async (): Promise<Seen> => {
    const client = await tunnel(server);
    client.on('error', () => undefined).write(Buffer.alloc(3000, 'a request '));
    return seenBy(client);
  };
  return await Promise.all(Array.from({ length: TIMES }, once));
}

async function serverResets(tunnel: Tunnel, words: Buffer): Promise<void> {
  allAre({ bytes: words.length, clean: false }, await seenAtClients(tunnel, words));
}

/** What every connection at a server looked like in the end. */
async function seenAtServer(tunnel: Tunnel, end: (client: Socket) => void): Promise<Seen[]> {
  const seen: Promise<Seen>[] = [];
  const { promise: all, resolve } = Promise.withResolvers<void>();
  // The client has something to wait for, and the flow is there once it has that.
  await using server = await tcpServer((socket) => {
    socket.write('.');
    seen.push(seenBy(socket));
    if (seen.length === TIMES) resolve();
  });
  const once = async (): Promise<void> => {
    const client = await tunnel(server);
    client.on('error', () => undefined);
    await readExactly(client, 1);
    end(client);
  };
  await Promise.all(Array.from({ length: TIMES }, once));
  await within(all, 'every connection at the server');
  return await Promise.all(seen);
}

async function clientResets(tunnel: Tunnel, words: Buffer): Promise<void> {
  const seen = await seenAtServer(tunnel, (client) => {
    if (words.length > 0) speakAndReset(client, words);
    else client.resetAndDestroy();
  });
  allAre({ bytes: words.length, clean: false }, seen);
}

/** The server is reset while it sends more than the client takes. */
async function serverResetsInData(tunnel: Tunnel): Promise<void> {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  await using server = await tcpServer((socket) => {
    const flood = (): void => {
      while (!socket.destroyed && socket.write(WORDS));
    };
    socket.on('drain', flood);
    flood();
    void begun.then(() => socket.resetAndDestroy());
  });
  const client = await tunnel(server);
  client.on('error', () => undefined).write('a request');
  await readExactly(client, 1);
  begin();
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

/** What a server sends right before its reset arrives, with whatever end other programs make of that. */
export async function serverWordsBeforeReset(tunnel: Tunnel): Promise<void> {
  const seen = await seenAtClients(tunnel, WORDS);
  assert.deepEqual([...new Set(seen.map(({ bytes }) => bytes))], [WORDS.length]);
}

/** What a side sends right before its reset arrives, with whatever end other programs make of that. */
export async function wordsBeforeReset(tunnel: Tunnel): Promise<void> {
  const seen = [
    ...(await seenAtClients(tunnel, WORDS)),
    ...(await seenAtServer(tunnel, (client) => speakAndReset(client, WORDS))),
  ];
  assert.deepEqual([...new Set(seen.map(({ bytes }) => bytes))], [WORDS.length]);
}
