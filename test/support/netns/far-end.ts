import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { decode, encode, type Answer, type Packet } from 'dns-packet';
import { codeOf } from '@weir/base';
import { openSelf } from '@weir/io/platform/native';
import { receiveBody, sendBody } from '../data/pattern.ts';
import { FAR, LAST_WORDS, PORT } from './site.ts';

/*
 * The servers of the far end: a program, started by `Site`. A message asks for the counts.
 */

/** What the services have seen. */
export interface FarCounts {
  /** Connections by port. */
  readonly connections: Readonly<Record<number, number>>;
  /** Connections that were reset by their clients. */
  readonly resets: number;
  /** Connections that are open. */
  readonly open: number;
  /** Bytes that came after the banner and its end of stream. */
  readonly afterBanner: number;
  /** Names that were asked for. */
  readonly queries: number;
}

const connections: Record<number, number> = {};
let [resets, open, afterBanner, queries] = [0, 0, 0, 0];

function tcp(port: number, serve: (socket: Socket) => void | Promise<void>): Promise<unknown>[] {
  return [FAR.host, FAR.host6].map((host) => {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      connections[port] = (connections[port] ?? 0) + 1;
      open++;
      socket.on('error', (error) => {
        if (codeOf(error) === 'ECONNRESET') resets++;
      });
      socket.on('close', () => open--);
      void Promise.resolve(serve(socket)).catch(() => socket.destroy());
    });
    return once(server.listen({ port, host, backlog: 4096 }), 'listening');
  });
}

/** Of Linux (linux/sockios.h): the bytes of a TCP connection that its kernel has not sent once. */
const SIOCOUTQNSD = 0x894b;
const ioctl = openSelf().func('int ioctl(int fd, unsigned long request, _Out_ void *value)') as (
  fd: number,
  request: number,
  value: Uint8Array,
) => number;

/** Resolves when the kernel has sent everything: it waits for the device to take what is before. */
async function sent(socket: Socket): Promise<void> {
  const { fd } = (socket as unknown as { readonly _handle: { readonly fd: number } })._handle;
  const unsent = new Int32Array(1);
  do {
    await setImmediate();
  } while (
    !socket.destroyed &&
    ioctl(fd, SIOCOUTQNSD, new Uint8Array(unsent.buffer)) === 0 &&
    unsent[0] !== 0
  );
}

function udpEcho(host: string): Promise<unknown> {
  const socket: UdpSocket = createSocket({
    type: host.includes(':') ? 'udp6' : 'udp4',
    recvBufferSize: 4 << 20,
    sendBufferSize: 4 << 20,
  });
  socket.on('message', (data, { port, address }) => socket.send(data, port, address));
  socket.bind(PORT.echo, host);
  return once(socket, 'listening');
}

/** Addresses of `crowd.far.test`, which do not fit a datagram without EDNS. */
const CROWD = Array.from({ length: 40 }, (_, index) => `203.0.113.${index + 1}`);

/** Every name below `far.test` is at the far end; `alias.far.test` by another name. */
function resolved(query: Packet): Packet {
  const answers: Answer[] = [];
  for (const { name, type } of query.questions ?? []) {
    if (!name.endsWith('.far.test')) continue;
    const isAlias = name === 'alias.far.test';
    const owner = isAlias ? 'canonical.far.test' : name;
    if (isAlias) answers.push({ type: 'CNAME', name, ttl: 60, data: owner });
    if (name === 'crowd.far.test') {
      if (type !== 'A') continue;
      answers.push(...CROWD.map((data) => ({ type, name, ttl: 60, data })));
    } else if (type === 'A') answers.push({ type, name: owner, ttl: 60, data: FAR.host });
    else if (type === 'AAAA') answers.push({ type, name: owner, ttl: 60, data: FAR.host6 });
  }
  return { ...query, type: 'response', additionals: [], answers };
}

function udpNames(host: string): Promise<unknown> {
  const socket = createSocket('udp4');
  socket.on('message', (data, { port, address }) => {
    queries++;
    socket.send(encode(resolved(decode(data))), port, address);
  });
  socket.bind(PORT.names, host);
  return once(socket, 'listening');
}

/** The first line of what comes. */
async function readLine(socket: Socket): Promise<string> {
  let line = '';
  while (!line.endsWith('\n')) {
    const chunk = socket.read(1) as Buffer | null;
    if (chunk) line += chunk.toString('latin1');
    else await once(socket, 'readable');
  }
  return line;
}

const PAGES: Readonly<Record<string, readonly [type: string, body: string]>> = {
  '/': [
    'text/html',
    `<title>A page</title><p id=a>plain</p><script src=script.js></script>
     <img src=dot.svg onload="document.body.append('picture ')"><iframe src=frame.html></iframe>`,
  ],
  '/script.js': ['text/javascript', `document.getElementById('a').textContent = 'by script';`],
  '/dot.svg': ['image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'],
  '/frame.html': ['text/html', `<script>parent.document.body.append('frame ')</script>`],
};

const http = [FAR.host, FAR.host6].map((host) => {
  const server = createHttpServer((request, response) => {
    const page = PAGES[request.url ?? ''];
    if (page) response.writeHead(200, { 'content-type': page[0] }).end(page[1]);
    else response.writeHead(404).end('no such page');
  });
  return once(server.listen(PORT.http, host), 'listening');
});

await Promise.all([
  ...tcp(PORT.echo, (socket) => pipeline(socket, socket)),
  ...tcp(PORT.digest, async (socket) => {
    socket.end(JSON.stringify(await receiveBody(socket)));
  }),
  ...tcp(PORT.source, async (socket) => {
    await sendBody(socket, Number(await readLine(socket)));
    socket.end();
  }),
  ...tcp(PORT.reset, (socket) => void socket.once('data', () => socket.resetAndDestroy())),
  ...tcp(PORT.lastWords, async (socket) => {
    await once(socket, 'readable');
    socket.write(Buffer.alloc(LAST_WORDS));
    await sent(socket);
    socket.resetAndDestroy();
  }),
  ...tcp(PORT.stuck, (socket) => void socket.pause()),
  ...tcp(PORT.banner, (socket) => {
    socket.end('welcome\n');
    socket.on('data', (chunk) => (afterBanner += chunk.length));
  }),
  ...[FAR.host, FAR.host6].map(udpEcho),
  udpNames(FAR.host),
  ...http,
]);
process.on('message', () => {
  process.send?.({ connections, resets, open, afterBanner, queries } satisfies FarCounts);
});
process.on('disconnect', () => process.exit());
process.stdout.write('ready\n');
