import { existsSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { dirname, resolve as resolvePath } from 'node:path';
import type { Duplex } from 'node:stream';
import type { ApiListen, ApiOptions } from '@weir/config';
import { WeirError, codeOf, messageOf } from '@weir/base';
import { paceParser, type PacedSocket } from '@weir/http/http1/paced-socket';
import { recordLines, type Logger } from '@weir/base/log';
import { formatEndpoint, type Endpoint } from '@weir/io/addresses';
import { systemSockets } from '@weir/io/sockets';
import type { SocketListenSpec } from '@weir/proxy/spec';
import { bindReason } from '@weir/proxy/listeners';
import { UnauthenticatedClients, type ClientPlace } from '@weir/proxy/accept';
import { responseTo, internalError, type ApiResponse } from './response.ts';
import { MAX_DISCARDED, readBody } from '../requests.ts';
import { ApiConnection } from './connection.ts';
import type { ControlledApp } from '../contract.ts';
import { bind, unbind } from '../../local-http/bind.ts';
import { EVENT_STREAM_HEADERS, SseStream } from '../../local-http/event-stream.ts';
import { createHttpServer, rawResponse } from '../../local-http/http-server.ts';
import { FlowFeed, TrafficFeed } from '../feeds/feeds.ts';
import {
  RequestFilter,
  type ApiRequestHead,
  type FilterDecision,
  parserRejection,
} from './request-filter.ts';
import type { Services } from '../routes.ts';
import { StartTimes } from '../views.ts';

/** Milliseconds that responses in progress may take after the API stops. */
const STOP_WAIT_MS = 5_000;

/** Large, because a token may be long. */
const MAX_HEAD_BYTES = 256 << 10;
const TIMES = { head: 30_000, request: 60_000, idle: 120_000 };

/**
 * Unauthenticated connections, of all clients and of one source; beyond either limit the oldest is closed, of the
 * source that has the most. Each may hold a head of MAX_HEAD_BYTES.
 */
const MAX_UNAUTHENTICATED = 256;
const MAX_UNAUTHENTICATED_OF_SOURCE = 128;

/**
 * After this response the connection ends, and pipelined requests are ignored: otherwise a client without the secret
 * could have hundreds of requests served in one turn of the event loop.
 */
const UNAUTHORIZED = 401;

/** The API could not be bound; the message names the configured address. */
export class ApiBindError extends WeirError {
  constructor(listen: ApiListen, cause: unknown) {
    super('bind', `API on ${listen.text}: ${reasonOf(listen, cause)}`, { cause });
  }
}

/** A listener of the API, from its binding to its stop. */
export class ApiServer {
  /** The bound address, with the port that the kernel chose; the path of a unix socket. */
  readonly address: string;
  /** The bound address as data; `undefined` for a unix socket. */
  readonly endpoint: Endpoint | undefined;
  readonly #server: Server;
  /** The bound place, with the port that the kernel chose. */
  readonly #bound: ApiListen;
  readonly #filter: RequestFilter;
  readonly #services: Services;
  readonly #log: Logger;
  readonly #connections = new Map<Duplex, ApiConnection>();
  readonly #unauthenticated = unauthenticatedClients();
  readonly #places = new WeakMap<Duplex, ClientPlace>();
  #stopping: Promise<void> | undefined;
  #onEmpty: (() => void) | undefined;

  /**
   * Binds and serves until stopped.
   * @throws {ApiBindError}
   */
  static async start(options: ApiOptions, app: ControlledApp, log: Logger): Promise<ApiServer> {
    const server = await createHttpServer({ headBytes: MAX_HEAD_BYTES, times: TIMES });
    // A client that half-closes after its request still gets the response. `ApiConnection` decides
    // for which requests the end of stream counts as a disconnect.
    Object.assign(server, { httpAllowHalfOpen: true });
    try {
      await bind(server, options.listen, { takesPassed: true });
    } catch (error) {
      throw new ApiBindError(options.listen, error);
    }
    return new ApiServer(server, options, app, log);
  }

  private constructor(server: Server, options: ApiOptions, app: ControlledApp, log: Logger) {
    const { clock, tracker } = app;
    const times = new StartTimes(clock);
    const bound = server.address();
    this.endpoint =
      typeof bound === 'object' && bound ? { host: bound.address, port: bound.port } : undefined;
    this.address = this.endpoint ? formatEndpoint(this.endpoint) : options.listen.text;
    const { listen } = options;
    this.#bound =
      listen.kind === 'tcp' && this.endpoint ? { ...listen, port: this.endpoint.port } : listen;
    this.#server = server;
    this.#log = log;
    this.#filter = new RequestFilter(options, this.endpoint?.port);
    this.#services = {
      app,
      clock,
      times,
      flows: new FlowFeed(tracker, clock, times),
      traffic: new TrafficFeed(tracker.traffic, clock),
    };
    this.#listenForRequests();
  }

  /** Whether this listener may prevent an inbound from binding to `spec`. */
  conflictsWith(spec: SocketListenSpec): boolean {
    if (this.#bound.kind === 'unix') {
      return spec.kind === 'unix' && resolvePath(this.#bound.path) === resolvePath(spec.path);
    }
    return spec.kind !== 'unix' && this.#bound.port === spec.port;
  }

  /** Frees the address immediately; requests in progress continue, and it can be reopened. */
  release(): void {
    unbind(this.#server);
  }

  /**
   * Binds the released address again.
   * @throws {ApiBindError}
   */
  async reopen(): Promise<void> {
    try {
      await bind(this.#server, this.#bound, { takesPassed: true });
    } catch (error) {
      throw new ApiBindError(this.#bound, error);
    }
  }

  /**
   * Stops accepting and frees the address immediately. Waits up to 5 seconds for responses in
   * progress, then drops them with a warning.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    unbind(this.#server);
    for (const connection of this.#connections.values()) connection.finish();
    if (this.#connections.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onEmpty = resolve;
    const timer = this.#services.clock.after(STOP_WAIT_MS, () => {
      if (this.#isBusy()) {
        this.#log.warn('API: requests still in flight when it stopped were dropped');
      }
      for (const socket of this.#connections.keys()) socket.destroy();
    });
    await promise;
    timer.cancel();
  }

  #isBusy(): boolean {
    return [...this.#connections.values()].some(({ busy }) => busy);
  }

  #listenForRequests(): void {
    paceParser(this.#server, 'connection', (socket) => this.#accept(socket));
    this.#server
      .on('request', (request, response) => this.#take(request, response))
      .on('checkExpectation', (request, response) => this.#take(request, response))
      .on('checkContinue', (request: IncomingMessage, response: ServerResponse) =>
        this.#take(request, response, () => response.writeContinue()),
      )
      .on('connect', (request: IncomingMessage, socket: Duplex) => {
        const verdict = this.#filter.judge(headOf(request));
        if (verdict.kind === 'response') this.#reject(socket, verdict.response);
        else socket.destroy(); // no route has CONNECT
      })
      .on('clientError', (error: Error, socket: Duplex) => {
        // Input after a request with `Connection: close` is ignored: its response is in progress.
        if (codeOf(error) === 'HPE_CLOSED_CONNECTION') return;
        this.#reject(socket, parserRejection(error, this.#filter));
      })
      // A failed accept (EMFILE, ECONNABORTED) loses one connection, not the listener.
      .on('error', () => undefined);
  }

  #accept(socket: PacedSocket): void {
    this.#connections.set(socket, new ApiConnection(socket, this.#services.clock));
    socket.on('error', () => undefined); // every error is followed by 'close'
    const evict = (): void => void socket.destroy();
    const place = this.#unauthenticated.enter(socket.remoteAddress, { evict });
    this.#places.set(socket, place);
    socket.once('close', () => {
      place.leave();
      this.#connections.delete(socket);
      if (this.#connections.size === 0) this.#onEmpty?.();
    });
  }

  #reject(socket: Duplex, { status, headers, body }: ApiResponse): void {
    const connection = this.#connections.get(socket);
    if (connection) connection.refuse(rawResponse(status, headers, body));
    else socket.destroy();
  }

  #take(request: IncomingMessage, response: ServerResponse, invite?: () => void): void {
    const connection = this.#connections.get(request.socket);
    if (!connection) return;
    // First of all: one read may deliver a thousand requests.
    if (connection.isClosing) {
      connection.ignoreInput();
      return;
    }
    const verdict = this.#filter.judge(headOf(request));
    if (verdict.kind === 'call') this.#places.get(request.socket)?.leave();
    connection.take({
      request,
      response,
      isLast: verdict.kind === 'response' && verdict.response.status === UNAUTHORIZED,
      abandonable: verdict.kind === 'call' && verdict.route.abandonable === true,
      serve: () => {
        if (verdict.kind === 'response') this.#send(request, response, verdict.response);
        else void this.#serve(request, response, verdict, invite);
      },
    });
  }

  async #serve(
    request: IncomingMessage,
    response: ServerResponse,
    { route, parameters, query }: FilterDecision & { kind: 'call' },
    invite: (() => void) | undefined,
  ): Promise<void> {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const call = {
      parameters,
      query,
      headers: {
        contentType: request.headers['content-type'],
        ifMatch: request.headers['if-match'],
      },
      readBody: () => readBody(request, invite),
      signal: gone.signal,
    };
    let reply: ApiResponse;
    try {
      const result = await route.handler(call, this.#services);
      if ('open' in result) {
        if (request.method === 'HEAD') response.writeHead(200, EVENT_STREAM_HEADERS).end();
        else result.open(new SseStream(response, this.#services.clock));
        return;
      }
      reply = result;
    } catch (error) {
      // The client has disconnected: no response can be sent.
      if (gone.signal.aborted) return;
      reply = responseTo(error) ?? this.#defect(error);
    }
    this.#send(request, response, reply);
  }

  #send(request: IncomingMessage, response: ServerResponse, reply: ApiResponse): void {
    if (response.destroyed) return;
    const { status, headers, body } = reply;
    const announced = Number(request.headers['content-length'] ?? 0);
    const closing =
      this.#stopping !== undefined || announced > MAX_DISCARDED || status === UNAUTHORIZED;
    response.writeHead(status, {
      ...headers,
      ...(status === 204 ? {} : { 'Content-Length': body.length }),
      ...(closing ? { Connection: 'close' } : {}),
    });
    response.end(body);
  }

  #defect(error: unknown): ApiResponse {
    const detail = error instanceof Error ? error.stack : String(error);
    this.#log.error(recordLines(`API task failed: ${detail}`));
    return internalError(messageOf(error));
  }
}

const headOf = ({ method = '', url = '', headers }: IncomingMessage): ApiRequestHead => ({
  method,
  target: url,
  host: headers.host,
  origin: headers.origin,
  fetchSite: headers['sec-fetch-site'],
  authorization: headers.authorization,
});

/** Limits of unauthenticated clients, within the descriptor limit of the process. */
function unauthenticatedClients(): UnauthenticatedClients {
  const { limit } = UnauthenticatedClients.within(systemSockets().descriptorLimit);
  const share = Math.min(MAX_UNAUTHENTICATED_OF_SOURCE, Math.ceil(limit / 2));
  return new UnauthenticatedClients(Math.min(MAX_UNAUTHENTICATED, limit), share);
}

/** The reason of a failed bind. Node reports a missing directory as EACCES. */
function reasonOf(listen: ApiListen, cause: unknown): string {
  const lost =
    listen.kind === 'unix' && codeOf(cause) === 'EACCES' && !existsSync(dirname(listen.path));
  return lost ? 'no such file or directory' : bindReason(cause);
}
