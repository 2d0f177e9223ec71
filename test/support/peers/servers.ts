import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import type { Target } from './socks-client.ts';
import { bodyOf, pattern, receiveBody, sendBody, type Body } from '../data/pattern.ts';

/** A server on loopback at a port that the kernel chose; disposing of it cuts what is open. */
export interface Origin extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  readonly target: Target;
  /** Connections accepted so far. */
  readonly accepted: () => number;
}

/** Serves every TCP connection with `serve`, each failure of which ends its own connection alone. */
export async function tcpServer(
  serve: (socket: Socket) => void | Promise<void>,
  host = '127.0.0.1',
): Promise<Origin> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    accepted++;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    void Promise.resolve(serve(socket)).catch(() => socket.destroy());
  });
  return started(server, host, () => accepted, sockets);
}

/** Sends back what comes and ends when its peer does. */
export const echoServer = (host?: string): Promise<Origin> =>
  tcpServer(async (socket) => pipeline(socket, socket), host);

/** Swallows what comes and ends when its peer does. */
export const discardServer = (host?: string): Promise<Origin> =>
  tcpServer((socket) => void socket.resume().on('end', () => socket.end()), host);

/** Sends `text` first, then half-closes without waiting for the client. */
export const bannerServer = (text: string, host?: string): Promise<Origin> =>
  tcpServer((socket) => void socket.resume().end(text), host);

/** Reads to the client's end of stream and only then responds with the digest. */
export const digestServer = (host?: string): Promise<Origin> =>
  tcpServer(async (socket) => {
    const body = await receiveBody(socket);
    socket.end(JSON.stringify(body));
  }, host);

/** Sends a body, half-closes, and continues to read; `received` returns what came after that. */
export async function sendFirstServer(
  size: number,
): Promise<Origin & { readonly received: Promise<Body> }> {
  const { promise, resolve } = Promise.withResolvers<Body>();
  const origin = await tcpServer(async (socket) => {
    const body = receiveBody(socket);
    await sendBody(socket, size);
    socket.end();
    resolve(await body);
  });
  return { ...origin, received: promise };
}

/**
 * HTTP to be fetched through proxies: `/hello`, `/bytes/N` with a length, `/chunked/N` without,
 * `/digest` (responds with the body that was put), `/seen` (responds with the request's headers).
 */
export async function webServer(host = '127.0.0.1'): Promise<Origin> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createHttpServer((request, response) => {
    const serve = async (): Promise<void> => {
      const [, what = '', size = ''] = (request.url ?? '').split('/');
      if (what === 'hello') response.end('hello from the origin\n');
      else if (what === 'bytes') await sendBytes(response, Number(size), true);
      else if (what === 'chunked') await sendBytes(response, Number(size), false);
      else if (what === 'digest') response.end(JSON.stringify(await receiveBody(request)));
      else if (what === 'seen') response.end(JSON.stringify(request.headers));
      else response.writeHead(404).end('no such page\n');
    };
    serve().catch(() => response.destroy());
  });
  server.on('connection', (socket: Socket) => {
    accepted++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.requestTimeout = 0;
  return started(server, host, () => accepted, sockets);
}

async function sendBytes(response: ServerResponse, size: number, sized: boolean): Promise<void> {
  if (sized) response.setHeader('content-length', size);
  await pipeline(pattern(size), response);
}

/** The body of `/bytes/N` and `/chunked/N`. */
export const webBody = (size: number): Body => bodyOf(size);

/** Replies to each datagram with what `respond` returns. */
export async function udpServer(
  respond: (message: Buffer) => Uint8Array | undefined,
  host = '127.0.0.1',
): Promise<Origin> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  let seen = 0;
  socket.on('message', (message, from) => {
    seen++;
    const reply = respond(message);
    if (reply) socket.send(reply, from.port, from.address);
  });
  socket.bind(0, host);
  await once(socket, 'listening');
  const { port } = socket.address();
  return {
    host,
    port,
    target: { host, port },
    accepted: () => seen,
    [Symbol.asyncDispose]: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
}

export const udpEcho = (host?: string): Promise<Origin> => udpServer((message) => message, host);

async function started(
  server: Server,
  host: string,
  accepted: () => number,
  sockets: ReadonlySet<Socket>,
): Promise<Origin> {
  server.listen({ port: 0, host, backlog: 4096 });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    host,
    port,
    target: { host, port },
    accepted,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
