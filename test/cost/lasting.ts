import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { portOf } from '../support/data/address.ts';
import { addressed, END, frame, KEEP_ALIVE, NEW } from '../support/peers/mux-client.ts';
import { discardServer, echoServer, tcpServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { freedom, httpIn, socksIn } from '../support/process/config.ts';
import { API, Control } from '../support/process/control.ts';
import { residentBytes } from '../support/process/proc.ts';
import { Weir } from '../support/process/weir.ts';
import { roundTrip } from '../support/read.ts';
import type { LastingClients } from './lasting-clients.ts';
import { OBSERVED, ObservedProcess } from './observed-process.ts';

/**
 * What small units cost over a connection's life: the search for the costliest input looks at its first 48 KB, in
 * which the handshake hides them. Each is sent without end by several connections, beside the echo of another client,
 * and compared with bytes in bulk over the same inbound.
 */

const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';
const users = `[inbound.settings]\nusers = [{ id = "${ID}" }]\n`;
const vless = (tag: string, more = ''): string =>
  `[[inbound]]\ntag = "${tag}"\nprotocol = "vless"\nport = 0\nsniffing = false\n${users}${more}`;
const CONFIG =
  API +
  socksIn('socks', 'sniffing = false') +
  httpIn() +
  vless('vless') +
  vless('ws', '[inbound.stream]\nnetwork = "ws"\n') +
  freedom();

/** Bytes of one write, some hundred units at least. */
const WRITE = 64 << 10;
/** An echo beside units may take as many times as one beside bulk, and this many milliseconds more. */
const MOST_TIMES = 10;
const MOST_MORE_MS = 100;

interface Place {
  readonly host: string;
  readonly port: number;
}

/** What connections to an inbound send. */
export interface Lasting {
  readonly name: string;
  readonly inbound: 'http' | 'vless' | 'ws';
  readonly isBulk?: boolean;
  readonly first: (to: { readonly sink: Place; readonly interim: Place }) => Uint8Array;
  readonly unit: (sink: Place) => Uint8Array;
}

const many = (unit: Uint8Array): Buffer =>
  Buffer.concat(Array.from({ length: Math.ceil(WRITE / unit.length) }, () => unit));

const UPGRADE =
  'GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n';
const ws = (name: string, unit: Uint8Array, isBulk = false): Lasting => ({
  name: `ws: ${name}, without a password`,
  inbound: 'ws',
  isBulk,
  first: () => Buffer.from(UPGRADE),
  unit: () => unit,
});

/** A VLESS request. @param command 1 TCP, 2 UDP, 3 Mux.Cool */
const request = (command: number, to: Place): Buffer => {
  const head = Buffer.from(`00${ID.replaceAll('-', '')}000${command}`, 'hex');
  return command === 3 ? head : Buffer.concat([head, addressed('tcp', to).subarray(1)]);
};
const overVless = (
  name: string,
  command: number,
  unit: (sink: Place) => Uint8Array,
  isBulk = false,
): Lasting => ({
  name: `vless: ${name}`,
  inbound: 'vless',
  isBulk,
  first: ({ sink }) => request(command, sink),
  unit,
});

const upload = (unit: Uint8Array, name: string, isBulk = false): Lasting => ({
  name: `http: ${name}`,
  inbound: 'http',
  isBulk,
  first: ({ sink: { host, port } }) =>
    Buffer.from(
      `POST http://${host}:${port}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`,
    ),
  unit: () => unit,
});

export const LASTING: readonly Lasting[] = [
  ws(
    'messages',
    Buffer.concat([Buffer.from('82ff000000000001000000000000', 'hex'), Buffer.alloc(WRITE)]),
    true,
  ),
  ws('Pings', many(Buffer.from('898000000000', 'hex'))),
  ws('Pongs', many(Buffer.from('8a8000000000', 'hex'))),
  ws('empty messages', many(Buffer.from('828000000000', 'hex'))),
  ws('messages of a byte', many(Buffer.from('82810000000079', 'hex'))),
  overVless('bulk', 1, () => Buffer.alloc(WRITE), true),
  overVless('empty datagrams', 2, () => Buffer.alloc(WRITE)),
  overVless('datagrams of a byte', 2, () => many(Buffer.of(0, 1, 0x79))),
  overVless('Mux.Cool flows opened and ended', 3, (sink) =>
    Buffer.concat(
      Array.from({ length: 2000 }, (_, id) =>
        Buffer.concat([frame(id + 1, NEW, undefined, addressed('tcp', sink)), frame(id + 1, END)]),
      ),
    ),
  ),
  overVless('Mux.Cool keep-alives', 3, () => many(frame(0, KEEP_ALIVE))),
  upload(
    Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(WRITE), Buffer.from('\r\n')]),
    'an upload',
    true,
  ),
  upload(many(Buffer.from('1\r\ny\r\n')), 'chunks of a byte'),
  {
    name: 'http: interim responses of an origin',
    inbound: 'http',
    first: ({ interim: { host, port } }) =>
      many(Buffer.from(`GET http://${host}:${port}/ HTTP/1.1\r\nHost: x\r\n\r\n`)),
    unit: () => new Uint8Array(0),
  },
];

/** What a case has cost. */
export interface LastingCost {
  readonly name: string;
  /** Nanoseconds of processor time for each byte that Weir took from the clients and gave them. */
  readonly nanosecondsOfByte: number;
  /** Milliseconds of an echo of another client: the middle one and the slowest. */
  readonly median: number;
  readonly slowest: number;
  /** Milliseconds of processor time. */
  readonly longestTurn: number;
  readonly resident: number;
  /** Whether others wait for it, in comparison with the bulk before it. */
  readonly delays: boolean;
}

/** Runs the cases one after the other, each against a fresh process for so many seconds. */
export async function* measureLasting(
  cases: readonly Lasting[],
  connections: number,
  seconds: number,
): AsyncGenerator<LastingCost> {
  let bulk: number | undefined;
  for (const one of cases) {
    const cost = await measure(one, connections, seconds);
    if (one.isBulk === true) bulk = cost.median;
    const delays = bulk !== undefined && cost.median > MOST_TIMES * bulk + MOST_MORE_MS;
    yield { ...cost, delays };
  }
}

async function measure(
  { name, inbound, first, unit }: Lasting,
  count: number,
  seconds: number,
): Promise<Omit<LastingCost, 'delays'>> {
  await using stack = new AsyncDisposableStack();
  const echo = stack.use(await echoServer());
  const sink = stack.use(await discardServer());
  const interim = stack.use(await tcpServer(interimWithoutEnd));
  const weir = stack.use(await Weir.start(CONFIG, { nodeArgs: OBSERVED }));
  const observed = stack.use(await ObservedProcess.of(weir.child));
  const socket = await socksConnect(weir.address('socks'), echo.target);
  stack.defer(() => void socket.destroy());
  await roundTrip(socket, 'x');
  const clients: LastingClients = {
    port: portOf(weir.address(inbound)),
    count,
    first: first({ sink, interim }),
    unit: unit(sink),
  };
  const worker = new Worker(new URL('lasting-clients.ts', import.meta.url), {
    workerData: clients,
  });
  stack.defer(async () => void (await worker.terminate()));
  const control = await Control.of(weir);
  /** What Weir has taken from the clients, and given them. */
  const moved = async (): Promise<number> => {
    const { sessions } = await control.connections();
    return sessions.reduce((sum, { up, down }) => sum + up + down, 0);
  };
  // What the first turns compile is none of it.
  await pause(1000);
  await observed.watchTurns();
  const [from, startedAt, before] = [observed.seconds, performance.now(), await moved()];
  const echoes: number[] = [];
  while (performance.now() - startedAt < seconds * 1000) {
    const at = performance.now();
    await roundTrip(socket, 'x');
    echoes.push(performance.now() - at);
    await pause(5);
  }
  const used = observed.seconds - from;
  const bytes = Math.max(1, (await moved()) - before);
  echoes.sort((a, b) => a - b);
  return {
    name,
    nanosecondsOfByte: (used * 1e9) / bytes,
    median: echoes[echoes.length >> 1] ?? 0,
    slowest: echoes.at(-1) ?? 0,
    longestTurn: await observed.longestTurn(),
    resident: residentBytes(weir.pid),
  };
}

/** An origin that answers each connection with interim responses, and never with another. */
function interimWithoutEnd(socket: Socket): void {
  const responses = many(Buffer.from('HTTP/1.1 102 Processing\r\n\r\n'));
  const send = (): void => {
    if (socket.destroyed) return;
    if (socket.write(responses)) setImmediate(send);
    else socket.once('drain', send);
  };
  socket.resume().once('data', send);
}
