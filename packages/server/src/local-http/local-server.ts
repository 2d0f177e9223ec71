import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Server as TlsServer } from 'node:tls';
import { hintsOf, messageOf } from '@weir/base';
import { paceParser } from '@weir/http/http1/paced-socket';
import { ipVersion } from '@weir/base/ip';
import { formatEndpoint } from '@weir/io/addresses';
import { Shares, sourceGroup } from '@weir/io/bounds';
import { BindError } from '@weir/proxy/listeners';
import { bind, OWNER_ONLY } from './bind.ts';
import { type GuardedPlace, pagePlace, type Rejection, rejectionOf } from './guard.ts';
import { createHttpServer, type HttpTimes, rawResponse } from './http-server.ts';
import type { LocalListen, LocalTls } from './listen-option.ts';
import { LocalExchange, LocalHttpError } from './local-exchange.ts';

export interface LocalServerOptions {
  readonly listen: LocalListen;
  /**
   * A header that all methods but GET, HEAD and OPTIONS require: a page of another origin cannot send it without a
   * preflight request, and those are rejected.
   */
  readonly changeHeader?: string;
  /** Origins of other pages that are accepted too, such as `https://board.example`. */
  readonly origins?: ReadonlySet<string>;
  /**
   * Whether requests may be for any host and come from any page: for a server of public documents whose URLs are the
   * only credentials, so that a page of another origin gains nothing from the browser that asks for it.
   */
  readonly isPublic?: boolean;
  /** Headers of every response. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Maximum number of connections; `LocalConnections` decides which are closed beyond it. */
  readonly maxConnections?: number;
  readonly times?: HttpTimes;
  /** Serves a request that has passed the guard. A thrown error is sent as `errorBody`. */
  readonly serve: (exchange: LocalExchange) => Promise<void> | void;
  /**
   * Takes over a connection for another protocol, such as WebSocket; without it, upgrades are ignored.
   * @param trust as `LocalExchange.trust`
   */
  readonly upgrade?: (
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    trust: () => void,
  ) => void;
  /** The body of an error as JSON; `{ error: { code, message, hints } }` by default. */
  readonly errorBody?: (error: LocalHttpError) => unknown;
  /** Called with errors that are defects; their client gets a 500 without a reason. */
  readonly onDefect: (error: unknown) => void;
}

const TIMES: HttpTimes = {
  head: 10_000,
  request: 30_000,
  // Also without a byte received or sent. Longer than the interval of comments in a stream of events, and than the time limit of an action.
  idle: 120_000,
};
const MAX_HEAD_BYTES = 16 << 10;
const MAX_CONNECTIONS = 128;
/**
 * Maximum number of pipelined requests of one connection; beyond it the connection is closed. Browsers and the programs
 * served here wait for each response, whereas one read may deliver thousands of requests.
 */
const MAX_PIPELINED = 16;

/**
 * An HTTP server for programs and browsers on this host, with limits on every resource that a client can occupy. Each
 * request passes the guard before it reaches a handler.
 */
export class LocalServer implements AsyncDisposable {
  /** `http://127.0.0.1:8080`; `undefined` for a unix socket. */
  readonly url: string | undefined;
  /** `127.0.0.1:8080`, or the path of a unix socket. */
  readonly address: string;
  /** The bound port; `undefined` for a unix socket. */
  readonly port: number | undefined;
  readonly #server: Server;
  readonly #options: LocalServerOptions;
  readonly #place: GuardedPlace;
  readonly #connections: LocalConnections;
  /** Number of unanswered requests of connections that have any; Infinity once no further one is served. */
  readonly #waiting = new WeakMap<Socket, number>();

  /** @throws {BindError} */
  static async start(options: LocalServerOptions): Promise<LocalServer> {
    const { listen, times = TIMES } = options;
    const tls = listen.kind === 'tcp' ? listen.tls : undefined;
    const server = await createHttpServer({ headBytes: MAX_HEAD_BYTES, times }, tls);
    server.setTimeout(times.idle);
    try {
      await bind(server, listen, { mode: OWNER_ONLY });
    } catch (error) {
      server.close();
      throw new BindError(listen.kind === 'unix' ? listen.path : formatEndpoint(listen), error);
    }
    return new LocalServer(server, options);
  }

  private constructor(server: Server, options: LocalServerOptions) {
    const { listen } = options;
    const bound = server.address();
    const scheme = listen.kind === 'tcp' && listen.tls ? 'https' : 'http';
    this.port = typeof bound === 'object' && bound ? bound.port : undefined;
    this.address =
      listen.kind === 'unix'
        ? listen.path
        : formatEndpoint({ host: listen.host, port: this.port ?? listen.port });
    this.url = listen.kind === 'unix' ? undefined : `${scheme}://${this.address}`;
    this.#server = server;
    this.#options = options;
    this.#connections = new LocalConnections(options.maxConnections ?? MAX_CONNECTIONS);
    this.#place = pagePlace(scheme, this.port, ownNames(listen));
    if (scheme === 'http') {
      paceParser(server, 'connection', (socket) => this.#connections.take(socket));
    } else {
      // A connection counts from before its TLS handshake.
      server.on('connection', (socket: Socket) => this.#connections.take(socket));
      paceParser(server, 'secureConnection');
    }
    server
      .on('request', (request, response) => void this.#serve(request, response))
      .on('clientError', (_error: Error, socket: Duplex) => refuse(socket, 400))
      // A failed accept loses one connection.
      .on('error', () => undefined);
    const { upgrade } = options;
    // Without a listener the upgrade is ignored, as RFC 9110 §7.8 allows.
    if (upgrade) {
      server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
        this.#upgrade(request, socket, head, upgrade),
      );
    }
  }

  /** Uses another certificate from the next connection on. Only for a server that was started with one. */
  renewTls({ certificate: cert, key }: LocalTls): void {
    if (!(this.#server instanceof TlsServer)) throw new TypeError('the server has no TLS');
    this.#server.setSecureContext({ cert, key });
  }

  /** Stops listening, and disconnects all clients. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#connections.close();
    await closed;
  }

  #guard(request: IncomingMessage): void {
    if (this.#options.isPublic !== true) guardRequest(request, this.#place, this.#options);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!this.#countRequest(request.socket, response)) return;
    const exchange = new LocalExchange(request, response, this.#options.headers ?? {}, () =>
      this.#connections.trust(request.socket),
    );
    try {
      this.#guard(request);
      await this.#options.serve(exchange);
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  /** Counts a request, and returns whether it is served: its connection is not being closed, and has few others. */
  #countRequest(socket: Socket, response: ServerResponse): boolean {
    const waiting = this.#waiting.get(socket) ?? 0;
    if (waiting === Infinity) return false;
    if (waiting >= MAX_PIPELINED) {
      this.#waiting.set(socket, Infinity);
      socket.destroy();
      return false;
    }
    this.#waiting.set(socket, waiting + 1);
    response.once('close', () => {
      const left = this.#waiting.get(socket);
      if (left !== undefined) this.#waiting.set(socket, left - 1);
    });
    return true;
  }

  #fail(exchange: LocalExchange, thrown: unknown): void {
    // The client has disconnected.
    if (exchange.response.destroyed) return;
    const error = thrown instanceof LocalHttpError ? thrown : this.#defect(thrown);
    if (exchange.response.headersSent) {
      exchange.response.destroy();
      return;
    }
    const body = (this.#options.errorBody ?? standardBody)(error);
    // The rest of the body is not read.
    const close = exchange.request.complete ? {} : { Connection: 'close' };
    exchange.sendJson(error.status, body, { ...close, ...error.headers });
  }

  #defect(error: unknown): LocalHttpError {
    this.#options.onDefect(error);
    return new LocalHttpError(500, 'internal', 'an error in Weir; its terminal has more');
  }

  #upgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    upgrade: NonNullable<LocalServerOptions['upgrade']>,
  ): void {
    socket.on('error', () => undefined);
    try {
      this.#guard(request);
    } catch {
      refuse(socket, 403);
      return;
    }
    try {
      upgrade(request, socket, head, () => this.#connections.trust(socket));
    } catch (error) {
      this.#options.onDefect(error);
      socket.destroy();
    }
  }
}

const standardBody = (error: LocalHttpError): unknown => ({
  error: { code: error.code, message: error.message, hints: hintsOf(error) },
});

const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

const REJECTIONS: Readonly<Record<Rejection, string>> = {
  'foreign-host': 'the Host header does not name this server',
  'foreign-origin': 'pages of other origins have no access',
  'cross-site': 'requests from other sites are refused',
};

/** Whether a browser follows a link to a document. */
const isFollowedLink = (headers: IncomingHttpHeaders): boolean =>
  headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';

/** Rejects requests that pages of other origins make a browser send. @throws {LocalHttpError} 403 */
export function guardRequest(
  { method = '', headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  place: GuardedPlace,
  { origins, changeHeader }: Pick<LocalServerOptions, 'origins' | 'changeHeader'>,
): void {
  const { host: authority, origin, 'sec-fetch-site': fetchSite } = headers;
  const isFollowed = method === 'GET' && isFollowedLink(headers);
  const rejection = rejectionOf({ authority, origin, fetchSite, isFollowed }, place, origins);
  if (rejection) throw new LocalHttpError(403, rejection, REJECTIONS[rejection]);
  if (changeHeader === undefined || READING.has(method)) return;
  if (headers[changeHeader] !== undefined) return;
  throw new LocalHttpError(403, 'no-change-header', `changes need the header ${changeHeader}`);
}

/** Sends a response without a body on a connection that has no exchange. */
function refuse(socket: Duplex, status: 400 | 403): void {
  if (socket.writable) socket.end(rawResponse(status), () => socket.destroy());
  else socket.destroy();
}

/** Checks host names against the certificate; a rebound name is not in it, and browsers verify the names that are. */
function ownNames(listen: LocalListen): (host: string) => boolean {
  if (listen.kind === 'unix' || !listen.tls) return () => false;
  const { names } = listen.tls;
  return (host) =>
    (ipVersion(host) === 0 ? names.checkHost(host) : names.checkIP(host)) !== undefined;
}

/** The text of a defect, for standard error. */
export const defectText = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? messageOf(error)) : String(error);

/**
 * The connections of a server, limited in number. Any process of this host can open connections: at the limit the
 * oldest one of the source with the most is closed, so that one source cannot lock out the others. Those that have
 * shown a secret stay, so that others cannot lock out clients that have one.
 */
export class LocalConnections {
  readonly #most: number;
  readonly #trusted = new Set<Duplex>();
  /** Connections that have shown no secret, by source. */
  readonly #untrusted = new Shares<Duplex, string>();
  /** By the client's address and port, which TLS and the connection below it have in common. */
  readonly #peers = new Map<string, Duplex>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Adds a connection; at the limit it replaces an untrusted one, or is closed if all are trusted. */
  take(socket: Duplex): void {
    if (this.#trusted.size + this.#untrusted.size >= this.#most) {
      const evicted = this.#untrusted.heaviest?.oldest;
      (evicted ?? socket).destroy();
      if (!evicted) return;
      this.#untrusted.delete(evicted);
    }
    this.#untrusted.add(socket, sourceGroup((socket as Partial<Socket>).remoteAddress));
    const peer = peerOf(socket);
    if (peer !== undefined) this.#peers.set(peer, socket);
    socket.on('error', () => undefined).once('close', () => this.#remove(socket, peer));
  }

  /** Marks a connection whose client has shown a secret. @param socket the connection, or TLS on it */
  trust(socket: Duplex): void {
    const peer = peerOf(socket);
    const found = (peer === undefined ? undefined : this.#peers.get(peer)) ?? socket;
    if (this.#untrusted.delete(found) !== undefined) this.#trusted.add(found);
  }

  #remove(socket: Duplex, peer: string | undefined): void {
    this.#trusted.delete(socket);
    this.#untrusted.delete(socket);
    if (peer !== undefined && this.#peers.get(peer) === socket) this.#peers.delete(peer);
  }

  /** Closes all connections. */
  close(): void {
    for (const socket of this.#trusted) socket.destroy();
    for (const socket of this.#untrusted.items()) socket.destroy();
  }
}

/** The client's address and port; `undefined` on a unix socket. */
function peerOf(socket: Duplex): string | undefined {
  const { remoteAddress, remotePort } = socket as Partial<Socket>;
  return remotePort === undefined ? undefined : `${remoteAddress} ${remotePort}`;
}
