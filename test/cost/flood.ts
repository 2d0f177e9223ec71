import { createSocket, type Socket as Datagrams } from 'node:dgram';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { forgeInitial } from '../support/quic/forge.ts';
import { SeededRandom } from '../support/simnet/seeded-random.ts';
import { within } from '../support/wait.ts';
import { writesOf, type Attack, type Piece } from './attack.ts';

/** Where the clients of an attack go. */
export type Place =
  | { readonly kind: 'tcp'; readonly port: number; readonly tls?: 'http/1.1' | 'h2' }
  | { readonly kind: 'udp'; readonly port: number };

/** Ethernet, IPv4 and TCP with timestamps, and the segments of a connection that have no data. */
const SEGMENT_HEAD = 66;
const EMPTY_SEGMENTS = 4;
/** Ethernet, IPv4 and UDP. */
const DATAGRAM_HEAD = 42;
/** RFC 9000 §14.1. */
const SMALLEST_INITIAL = 1200;
const CONNECTION_ID_SIZE = 8;

/** A batch of clients that have sent everything. */
export interface Flood extends AsyncDisposable {
  /** Bytes of all clients on the wire, with the heads of their packets. */
  readonly wireBytes: number;
}

/** The address of one of so many sources. */
const sourceOf = (client: number, sources: number): string =>
  `127.0.1.${1 + (client % Math.min(sources, 250))}`;

/** Sends an attack by all of its clients, in turns. */
export const send = (attack: Attack, place: Place): Promise<Flood> =>
  place.kind === 'tcp' ? sendStreams(attack, place) : sendDatagrams(attack, place);

async function sendStreams(
  attack: Attack,
  { port, tls }: Extract<Place, { kind: 'tcp' }>,
): Promise<Flood> {
  const raws: Socket[] = [];
  const open = async (client: number): Promise<Socket> => {
    const raw = connect({
      port,
      host: '127.0.0.1',
      localAddress: sourceOf(client, attack.sources),
    });
    raws.push(raw);
    // A client that is disconnected sends nothing more, which is a result as well.
    raw.on('error', () => undefined).resume();
    raw.setNoDelay();
    await new Promise((resolve) => raw.once('connect', resolve).once('close', resolve));
    if (!attack.insideTls || tls === undefined) return raw;
    const secure = connectTls({
      socket: raw,
      rejectUnauthorized: false,
      servername: 'server.test',
      ALPNProtocols: [tls],
    });
    secure.on('error', () => undefined).resume();
    await new Promise((resolve) => secure.once('secureConnect', resolve).once('close', resolve));
    return secure;
  };
  const clients = await within(
    Promise.all(Array.from({ length: attack.clients }, (_, client) => open(client))),
    'the clients of a batch',
  );
  const writes = writesOf(attack);
  for (const bytes of writes) {
    for (const client of clients) if (client.writable) client.write(bytes);
    await turn();
  }
  await within(Promise.all(clients.map((client) => drained(client))), 'the last bytes of a batch');
  if (attack.end === 'half-close') for (const client of clients) client.end();
  const wireBytes = raws.reduce(
    (sum, raw) => sum + raw.bytesWritten + SEGMENT_HEAD * (EMPTY_SEGMENTS + writes.length),
    0,
  );
  if (attack.end === 'reset') for (const raw of raws) raw.resetAndDestroy();
  return {
    wireBytes,
    [Symbol.asyncDispose]: () => {
      for (const raw of raws) raw.destroy();
      return Promise.resolve();
    },
  };
}

/** Resolves when everything is with the kernel, or the client is disconnected. */
async function drained(client: Socket): Promise<void> {
  if (client.writableLength === 0) return;
  await new Promise((resolve) => client.once('drain', resolve).once('close', resolve));
}

async function sendDatagrams(
  attack: Attack,
  { port }: Extract<Place, { kind: 'udp' }>,
): Promise<Flood> {
  const random = new SeededRandom(ids++);
  const sockets: Datagrams[] = [];
  for (let client = 0; client < attack.clients; client++) {
    const socket = createSocket('udp4').on('error', () => undefined);
    sockets.push(socket);
    const address = sourceOf(client, attack.sources);
    await new Promise<void>((resolve) => socket.bind({ address }, resolve));
  }
  const encoders = sockets.map(() => encoder(random, attack.sourceId));
  let wireBytes = 0;
  for (const each of attack.pieces) {
    for (let left = each.repeat; left > 0; left--) {
      for (const [index, socket] of sockets.entries()) {
        const datagram = (encoders[index] as (one: Piece) => Buffer)(each); // one for each socket
        wireBytes += datagram.length + DATAGRAM_HEAD;
        socket.send(datagram, port, '127.0.0.1');
      }
      await turn();
    }
  }
  return {
    wireBytes,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(
        sockets.map((socket) => new Promise<void>((resolve) => socket.close(resolve))),
      );
    },
  };
}

/** Batches so far, so that no two have the same connection ids. */
let ids = 1;

/** Encodes the pieces of one client, whose Initial packets belong to one connection. */
function encoder(random: SeededRandom, sourceId: string): (each: Piece) => Buffer {
  const destination = random.bytes(CONNECTION_ID_SIZE);
  const source = sourceId === '' ? random.bytes(CONNECTION_ID_SIZE) : Buffer.from(sourceId, 'hex');
  let number = 0;
  return ({ bytes, encoding }) => {
    if (encoding === 'raw') return bytes;
    // Padding is frames of zeros; the head and the tag of a packet take less than 60 bytes.
    const room = Math.max(bytes.length, SMALLEST_INITIAL - 40);
    const frames = Buffer.alloc(room);
    frames.set(bytes);
    return Buffer.from(forgeInitial(destination, source, number++, frames));
  };
}
