import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createSecureServer, type Http2Server, type Http2ServerRequest } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { TestContext } from 'node:test';
import { decode, encode, type Answer, type Packet } from 'dns-packet';
import { codeOf } from '@weir/base';
import type { TestCertificate } from '../data/test-certificates.ts';

/** One question that came to the server. */
export interface Asked {
  readonly over: 'udp' | 'tcp' | 'tls' | 'h1' | 'h2';
  readonly id: number;
  readonly name: string;
  readonly type: string;
  /** The UDP payload size that the client announces; `undefined` without EDNS. */
  readonly payloadSize: number | undefined;
  readonly message: Buffer;
  /** The client's port, which distinguishes connections and retries. */
  readonly from: number;
  readonly http:
    | { readonly method: string; readonly path: string; readonly host: string }
    | undefined;
}

/** What the server does with a question: the messages that it sends, none to stay silent. */
export type Script = (asked: Asked) => Outcome | Promise<Outcome>;
type Outcome = Uint8Array | readonly Uint8Array[] | undefined;

/** The HTTP side of a response, where it is not the usual one. */
export interface HttpOverride {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A DNS server on loopback whose responses a script decides. */
export class TestDnsServer {
  readonly host = '127.0.0.1';
  readonly asked: Asked[] = [];
  /** Connections accepted so far; none for datagrams. */
  connections = 0;
  /** Further connections are closed as soon as they are accepted. */
  maxConnections = Number.POSITIVE_INFINITY;
  /** How HTTP responses differ from the usual. */
  http: HttpOverride = {};
  port = 0;
  readonly #script: Script;
  readonly #sockets = new Set<Socket>();

  constructor(script: Script) {
    this.#script = script;
  }

  /** Ends the connection of a client's port once all responses are sent, every open one when left out. */
  disconnect(from?: number): void {
    for (const socket of this.#sockets) {
      if (from === undefined) socket.destroy();
      else if (socket.remotePort === from) socket.destroySoon();
    }
  }

  /** Asked names, in order. */
  get names(): string[] {
    return this.asked.map(({ name }) => name);
  }

  accept(socket: Socket): void {
    socket.on('error', () => undefined);
    if (this.#sockets.size >= this.maxConnections) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
  }

  async respond(
    message: Buffer,
    over: Asked['over'],
    from: number,
    http?: Asked['http'],
  ): Promise<readonly Uint8Array[]> {
    const packet = decode(message);
    const [question] = packet.questions ?? [];
    const opt = (packet.additionals ?? []).find((each) => each.type === 'OPT');
    const asked: Asked = {
      over,
      id: packet.id ?? 0,
      name: question?.name ?? '',
      type: question?.type ?? '',
      payloadSize: opt?.udpPayloadSize,
      message,
      from,
      http,
    };
    this.asked.push(asked);
    const outcome = await this.#script(asked);
    if (outcome === undefined) return [];
    return outcome instanceof Uint8Array ? [outcome] : outcome;
  }
}

/** Serves datagrams and TCP on one port. */
export async function startPlainDns(t: TestContext, script: Script): Promise<TestDnsServer> {
  const server = new TestDnsServer(script);
  const tcp = createServer({ noDelay: true }, (socket) => serveStream(server, socket, 'tcp'));
  const udp = await bindBoth(t, tcp, server);
  udp.on('message', (message, { port, address }) => {
    void server.respond(message, 'udp', port).then((replies) => {
      for (const reply of replies) udp.send(reply, port, address);
    });
  });
  return server;
}

/** The kernel's free port for one kind of socket may be taken for the other: then try another. */
async function bindBoth(t: TestContext, tcp: Server, server: TestDnsServer): Promise<UdpSocket> {
  for (;;) {
    const udp = createSocket('udp4');
    udp.bind(0, server.host);
    await once(udp, 'listening');
    try {
      await listening(t, tcp, server, udp.address().port);
      t.after(() => udp.close());
      return udp;
    } catch (error) {
      udp.close();
      if (codeOf(error) !== 'EADDRINUSE') throw error;
    }
  }
}

/** Serves DNS over TLS. */
export async function startTlsDns(
  t: TestContext,
  certificate: TestCertificate,
  script: Script,
): Promise<TestDnsServer> {
  const server = new TestDnsServer(script);
  const tls = createTlsServer({ ...certificate, noDelay: true }, (socket) =>
    serveStream(server, socket, 'tls'),
  );
  tls.on('tlsClientError', () => undefined);
  await listening(t, tls, server);
  return server;
}

/** Serves DNS over HTTPS, over HTTP/2 or over HTTP/1.1 only. */
export async function startHttpsDns(
  t: TestContext,
  certificate: TestCertificate,
  version: 'h1' | 'h2',
  script: Script,
): Promise<TestDnsServer> {
  const server = new TestDnsServer(script);
  const handler = (request: IncomingMessage | Http2ServerRequest, response: Responder): void => {
    void serveRequest(server, version, request, response);
  };
  const https =
    version === 'h2'
      ? createSecureServer(certificate, handler)
      : createHttpsServer(certificate, handler);
  https.on('secureConnection', () => server.connections++);
  https.on('connection', (socket: Socket) => server.accept(socket));
  https.on('tlsClientError', () => undefined);
  https.on('sessionError', () => undefined);
  await listening(t, https, server);
  return server;
}

async function listening(
  t: TestContext,
  listener: Server | Http2Server,
  server: TestDnsServer,
  port = 0,
): Promise<void> {
  listener.listen(port, server.host);
  await once(listener, 'listening');
  t.after(() => {
    listener.close();
    server.disconnect();
  });
  server.port = (listener.address() as AddressInfo).port;
}

function serveStream(server: TestDnsServer, socket: Socket, over: 'tcp' | 'tls'): void {
  server.connections++;
  server.accept(socket);
  let rest = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 2 && rest.length >= 2 + rest.readUInt16BE(0)) {
      const message = rest.subarray(2, 2 + rest.readUInt16BE(0));
      rest = rest.subarray(2 + message.length);
      void server.respond(message, over, socket.remotePort ?? 0).then((replies) => {
        for (const reply of replies) {
          const length = Buffer.alloc(2);
          length.writeUInt16BE(reply.length);
          socket.write(Buffer.concat([length, reply]));
        }
      });
    }
  });
}

/** What both versions of HTTP have in common here. */
interface Responder {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: Uint8Array): unknown;
}

async function serveRequest(
  server: TestDnsServer,
  over: 'h1' | 'h2',
  request: IncomingMessage | Http2ServerRequest,
  response: Responder,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const host = request.headers[':authority'] ?? request.headers.host ?? '';
  const [message] = await server.respond(
    Buffer.concat(chunks),
    over,
    request.socket.remotePort ?? 0,
    { method: request.method ?? '', path: request.url ?? '', host: String(host) },
  );
  if (!message) return;
  const { status = 200, headers = {} } = server.http;
  response.writeHead(status, { 'content-type': 'application/dns-message', ...headers });
  response.end(message);
}

const FLAGS = 0x8180; // response, recursion desired and available

export interface ReplyParts extends Pick<Packet, 'answers' | 'authorities' | 'additionals' | 'id'> {
  readonly rcode?: number;
  readonly truncated?: boolean;
  /** A question section that differs from the question asked. */
  readonly name?: string;
}

/** A response to a question, with the changes in `parts`. */
export function reply(asked: Asked, parts: ReplyParts = {}): Buffer {
  const { rcode = 0, truncated = false, name = asked.name, id = asked.id, ...sections } = parts;
  return encode({
    ...sections,
    type: 'response',
    id,
    flags: FLAGS | rcode | (truncated ? 0x0200 : 0),
    questions: [{ name, type: asked.type as 'A', class: 'IN' }],
  });
}

export const a = (name: string, data: string, ttl = 60): Answer => ({ name, type: 'A', data, ttl });
export const aaaa = (name: string, data: string, ttl = 60): Answer => ({
  name,
  type: 'AAAA',
  data,
  ttl,
});
export const cname = (name: string, data: string, ttl = 60): Answer => ({
  name,
  type: 'CNAME',
  data,
  ttl,
});
export const soa = (name: string, ttl: number, minimum: number): Answer => ({
  name,
  type: 'SOA',
  ttl,
  data: { mname: `ns.${name}`, rname: `admin.${name}`, minimum },
});
