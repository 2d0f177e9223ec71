import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiClientError } from '@weir/client/api';
import { WeirError } from '@weir/base';
import {
  type LocalExchange,
  LocalHttpError,
  rawResponse,
  RequestRouter,
  secretCheck,
  targetOf,
} from '@weir/server/local-http';
import { CONNECTION_ENDPOINTS, CONFIG_ENDPOINTS, GENERAL_ENDPOINTS } from '../answers/general.ts';
import {
  bodyInvalid,
  type ClashContext,
  type ClashEndpoint,
  clashError,
  type ClashRequest,
  unauthorized,
} from '../answers/endpoint.ts';
import { PROVIDER_ENDPOINTS } from '../answers/providers.ts';
import { PROXY_ENDPOINTS } from '../answers/proxies.ts';
import { ResponseSink, upgradeResponse, WebSocketSink } from '../streams/sinks.ts';
import { STREAMS, type ClashStream } from '../streams/feeds.ts';
import type { StaticFiles } from './static-files.ts';

/** Maximum bytes of a body; the largest is a pick with a name. */
const MAX_BODY = 64 << 10;
/** First segment of the path of a dashboard's files. */
const UI = 'ui';

const NOT_FOUND = '404 page not found\n';
const TEXT = { 'Content-Type': 'text/plain; charset=utf-8' };

export interface ControllerParts {
  readonly context: ClashContext;
  readonly access: ClashAccess;
  /** `undefined` without `--ui`. */
  readonly files: StaticFiles | undefined;
}

/** Handles the requests that have passed the guard. */
export class Controller {
  readonly #parts: ControllerParts;

  constructor(parts: ControllerParts) {
    this.#parts = parts;
  }

  async serve(exchange: LocalExchange): Promise<void> {
    const { access, files } = this.#parts;
    const { method, headers, query, response } = exchange;
    if (method === 'OPTIONS' && headers['access-control-request-method'] !== undefined) {
      exchange.send(204, '', access.preflightHeaders(headers));
      return;
    }
    for (const [name, value] of Object.entries(access.corsHeaders(headers))) {
      response.setHeader(name, value);
    }
    const parts = partsOf(exchange.path);
    if (!parts) throw bodyInvalid();
    if (files && parts[0] === UI) {
      await files.serve(exchange, parts.slice(1));
      return;
    }
    if (!access.isAllowed(headers, query)) throw unauthorized();
    exchange.trust();
    await asClashError(() => this.#answer(exchange, parts));
  }

  /** Takes over a connection for a stream. Errors are sent as responses that end it. */
  async upgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    trust: () => void,
  ): Promise<void> {
    try {
      await asClashError(() => this.#open(request, socket, head, trust));
    } catch (error) {
      if (!(error instanceof LocalHttpError)) {
        socket.destroy();
        throw error;
      }
      refuseUpgrade(socket, error);
    }
  }

  async #open(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    trust: () => void,
  ): Promise<void> {
    const { access, context } = this.#parts;
    const { method = '', url, headers } = request;
    const { path, query } = targetOf(url);
    if (!access.isAllowed(headers, query)) throw unauthorized();
    trust();
    const parts = partsOf(path);
    const routed = parts && routeRequest(method, parts, true);
    if (routed?.kind !== 'stream') throw clashError(404, 'Resource not found');
    const response = upgradeResponse(method, headers);
    if (response === undefined) throw bodyInvalid();
    const feed = await routed.stream.open(context, query);
    if (!socket.writable) return;
    socket.write(response);
    feed(new WebSocketSink(socket, head));
  }

  async #answer(exchange: LocalExchange, parts: readonly string[]): Promise<void> {
    const { context } = this.#parts;
    const { method, query } = exchange;
    const routed = routeRequest(method, parts, false);
    switch (routed.kind) {
      case 'no-path':
        exchange.send(404, NOT_FOUND, TEXT);
        return;
      case 'no-method':
        exchange.send(405, '', { Allow: routed.allow.join(', ') });
        return;
      case 'stream': {
        const feed = await routed.stream.open(context, query);
        feed(new ResponseSink(exchange));
        return;
      }
      case 'endpoint': {
        const { endpoint, parameters } = routed;
        const request = { parameters, query, readJson: () => jsonOf(exchange) };
        const { status, json } = await endpoint.answer(context, request satisfies ClashRequest);
        if (json === undefined) exchange.send(status);
        else exchange.sendJson(status, json);
        return;
      }
      default:
        routed satisfies never;
    }
  }
}

/** Reads a body as JSON, whatever its type, as mihomo does. @throws {LocalHttpError} 400 when it is not JSON */
async function jsonOf(exchange: LocalExchange): Promise<unknown> {
  const body = await exchange.readBody(MAX_BODY);
  try {
    return JSON.parse(body.toString());
  } catch {
    throw bodyInvalid();
  }
}

/** Converts a rejection by Weir, or a failure to reach it, to an error of the controller. */
async function asClashError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof LocalHttpError || !(error instanceof WeirError)) throw error;
    const status = error instanceof ApiClientError && error.status !== undefined ? 500 : 502;
    throw clashError(status, error.message);
  }
}

function refuseUpgrade(socket: Duplex, { status, message }: LocalHttpError): void {
  const type = { 'Content-Type': 'application/json' };
  socket
    .on('error', () => undefined)
    .end(rawResponse(status, type, JSON.stringify({ message })), () => socket.destroy());
}

const ENDPOINTS = new RequestRouter<ClashEndpoint>([
  ...GENERAL_ENDPOINTS,
  ...CONFIG_ENDPOINTS,
  ...PROXY_ENDPOINTS,
  ...PROVIDER_ENDPOINTS,
  ...CONNECTION_ENDPOINTS,
]);

/** Maximum number of segments of a path; no endpoint has more than six. */
const MOST_PARTS = 8;

export type ClashRouted =
  | {
      readonly kind: 'endpoint';
      readonly endpoint: ClashEndpoint;
      readonly parameters: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'stream'; readonly stream: ClashStream }
  | { readonly kind: 'no-path' }
  /** The path exists for other methods. */
  | { readonly kind: 'no-method'; readonly allow: readonly string[] };

/** The segments of an undecoded path; `undefined` if it is too long or cannot be decoded. */
export function partsOf(path: string): readonly string[] | undefined {
  const parts = path.split('/', MOST_PARTS + 2).slice(1);
  if (parts.at(-1) === '') parts.pop();
  if (parts.length > MOST_PARTS) return undefined;
  try {
    return parts.map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

/** Finds the endpoint of a request. @param upgrades whether the client requests a WebSocket */
export function routeRequest(
  method: string,
  parts: readonly string[],
  upgrades: boolean,
): ClashRouted {
  const stream = STREAMS.find(({ path }) => path === `/${parts.join('/')}`);
  if (stream && method === 'GET' && (upgrades || !stream.isWebSocketOnly)) {
    return { kind: 'stream', stream };
  }
  const routed = ENDPOINTS.find(method, ['', ...parts]);
  switch (routed.kind) {
    case 'found':
      return { kind: 'endpoint', endpoint: routed.route, parameters: routed.parameters };
    case 'wrong_method':
      return {
        kind: 'no-method',
        allow: [...new Set([...routed.allow, ...(stream ? ['GET'] : [])])],
      };
    case 'unknown':
      return stream ? { kind: 'no-method', allow: ['GET'] } : { kind: 'no-path' };
    default:
      return routed satisfies never;
  }
}

/** Methods and headers of mihomo for pages of other origins. */
const CORS = {
  'Access-Control-Allow-Methods': 'GET, POST, PUT, PATCH, DELETE',
  'Access-Control-Allow-Headers': 'Content-Type, Authorization',
  'Access-Control-Max-Age': '300',
};

/** Access to the controller: clients need its secret, and pages must be its own or of an allowed origin. */
export class ClashAccess {
  readonly #isSecret: ((given: string) => boolean) | undefined;
  /** Allowed origins, in lower case. */
  readonly origins: ReadonlySet<string>;

  /** @param secret `undefined` where only the user of the process can connect */
  constructor(secret: string | undefined, origins: ReadonlySet<string>) {
    this.#isSecret = secret === undefined ? undefined : secretCheck(secret);
    this.origins = origins;
  }

  /**
   * Whether a request has the secret: as a bearer token, or in `?token=` of a WebSocket, for which a page cannot set
   * headers.
   */
  isAllowed(headers: IncomingHttpHeaders, query: URLSearchParams): boolean {
    const isSecret = this.#isSecret;
    if (!isSecret) return true;
    const token = query.get('token');
    if (headers.upgrade?.toLowerCase() === 'websocket' && token) return isSecret(token);
    const { authorization = '' } = headers;
    const space = authorization.indexOf(' ');
    return authorization.slice(0, space) === 'Bearer' && isSecret(authorization.slice(space + 1));
  }

  /** Headers that let a page of an allowed origin read the response; none for other requests. */
  corsHeaders(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
    const { origin } = headers;
    if (origin === undefined || !this.origins.has(origin.toLowerCase())) return {};
    return { 'Access-Control-Allow-Origin': origin, Vary: 'Origin' };
  }

  /** Headers of the response to a preflight request (Fetch standard §4.9). */
  preflightHeaders(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
    const allowed = this.corsHeaders(headers);
    if (Object.keys(allowed).length === 0) return {};
    const isPrivate = headers['access-control-request-private-network'] === 'true';
    return {
      ...allowed,
      ...CORS,
      ...(isPrivate && { 'Access-Control-Allow-Private-Network': 'true' }),
    };
  }
}
