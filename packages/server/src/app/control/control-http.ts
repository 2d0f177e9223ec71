import type { Socket } from 'node:net';
import { ApiRouter, splitRequestTarget, type RouteKey } from '../../api/http/api-router.ts';
import { messageOf } from '@weir/base';
import {
  field,
  valuesOf,
  headBytes,
  parseRequestHead,
  type RequestHead,
  MessageError,
} from '@weir/http/http1';
import { isObject, isText } from '@weir/proxy/schema';
import { MAX_REQUEST, REQUEST_MS, type ControlHandlers } from './control-handlers.ts';
import { failed, FLOW_PROTOCOL, jsonIn, problemOfCause } from './messages.ts';

/*
 * HTTP/1 on the control socket, one request on each connection. Without Node's server, which takes ten times as long to
 * load as all of this: most processes get one request in their life, of a command that waits for it.
 */

/** Maximum bytes of the head of a request. */
const MAX_HEAD = 16 << 10;
const HEAD_END = '\r\n\r\n';

/** A request that has arrived. */
interface ReceivedRequest {
  readonly head: RequestHead;
  readonly body: string;
  /** Data behind the request: expected only for a flow. */
  readonly ahead: Buffer;
}

/** A request as its handler gets it. */
interface ControlRequest {
  /** The parsed body; `undefined` without one. */
  readonly body: unknown;
  readonly client: Socket;
  /** Aborts when the client has disconnected. */
  readonly gone: () => AbortSignal;
}

interface ControlRoute extends RouteKey {
  /** Returns the value of the response; `undefined` when it has been written. */
  readonly answer: (handlers: ControlHandlers, request: ControlRequest) => unknown;
}

const ROUTES: readonly ControlRoute[] = [
  { method: 'GET', path: '/control/status', answer: ({ status }) => status() },
  { method: 'GET', path: '/control/loaded-files', answer: ({ loadedFiles }) => loadedFiles() },
  { method: 'GET', path: '/control/drain', answer: ({ drain }) => drain('show') },
  { method: 'POST', path: '/control/drain', answer: ({ drain }) => drain('begin') },
  { method: 'DELETE', path: '/control/drain', answer: ({ drain }) => drain('undo') },
  {
    method: 'POST',
    path: '/control/reload',
    answer({ reload }, { body }) {
      if (body === undefined) return reload(undefined);
      const cause = textIn(body, 'cause');
      const problem = cause === undefined ? 'expected {"cause":TEXT}' : problemOfCause(cause);
      return problem === undefined ? reload(cause) : failed(problem);
    },
  },
  {
    method: 'PUT',
    path: '/control/log-level',
    answer({ setLogFilter }, { body }) {
      const filter = textIn(body, 'filter');
      return filter === undefined ? failed('expected {"filter":FILTER}') : setLogFilter(filter);
    },
  },
  {
    method: 'POST',
    path: '/control/user-flows',
    answer: ({ userFlows }, { body }) => userFlows(body),
  },
  {
    method: 'POST',
    path: '/control/profile',
    answer: ({ profile }, { body, gone }) => profile(body, gone()),
  },
  {
    method: 'POST',
    path: '/control/log',
    async answer({ log }, { body, client, gone }) {
      gone();
      client.write(headOf(200, { 'Content-Type': 'application/x-ndjson' }));
      await log(body ?? {}, client);
    },
  },
];

const textIn = (body: unknown, key: string): string | undefined => {
  const value = isObject(body) ? body[key] : undefined;
  return isText(value) ? value : undefined;
};

const ROUTER = new ApiRouter(ROUTES);

/** Serves a connection. @param read what has been read of it */
export async function serveHttp(
  read: Buffer,
  client: Socket,
  handlers: ControlHandlers,
): Promise<void> {
  const request = await requestOn(client, read);
  if (request === undefined) client.destroy();
  else if (typeof request === 'number') end(client, request);
  else if (isUpgrade(request)) openFlow(request, client, handlers);
  else await respond(request, client, handlers);
}

/** Reads a request; `undefined` when the client has disconnected, or the status for an invalid one. */
async function requestOn(
  client: Socket,
  read: Buffer,
): Promise<ReceivedRequest | number | undefined> {
  let bytes = read;
  let request = parseRequest(bytes);
  if (request !== undefined) return request;
  const chunks = client.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  for await (const chunk of chunks) {
    bytes = Buffer.concat([bytes, chunk]);
    request = parseRequest(bytes);
    if (request !== undefined) return request;
  }
  return undefined;
}

/** Parses a request; `undefined` for an incomplete one, or the status for an invalid one. */
function parseRequest(bytes: Buffer): ReceivedRequest | number | undefined {
  const end = bytes.indexOf(HEAD_END);
  if (end > MAX_HEAD || (end < 0 && bytes.length > MAX_HEAD)) return 431;
  if (end < 0) return undefined;
  const rest = bytes.subarray(end + HEAD_END.length);
  try {
    const head = parseRequestHead(bytes.subarray(0, end + HEAD_END.length));
    if (valuesOf(head.fields, 'transfer-encoding').length > 0) return 411;
    const length = Number(valuesOf(head.fields, 'content-length')[0] ?? 0);
    if (!Number.isSafeInteger(length) || length < 0) return 400;
    if (length > MAX_REQUEST) return 413;
    if (rest.length < length) return undefined;
    return { head, body: rest.toString('utf8', 0, length), ahead: rest.subarray(length) };
  } catch (error) {
    if (error instanceof MessageError) return error.status;
    throw error;
  }
}

async function respond(
  { head: { method, target }, body: text }: ReceivedRequest,
  client: Socket,
  handlers: ControlHandlers,
): Promise<void> {
  const routed = ROUTER.find(method, splitRequestTarget(target).path);
  if (routed.kind === 'unknown') return end(client, 404);
  if (routed.kind === 'wrong_method') return end(client, 405, { Allow: routed.allow });
  client.resume().setTimeout(0);
  const body = text === '' ? undefined : (jsonIn(text) ?? null);
  const gone = (): AbortSignal => leaving(client);
  try {
    const value = await routed.route.answer(handlers, { body, client, gone });
    if (value !== undefined) reply(client, 200, value);
  } catch (error) {
    reply(client, 500, failed(`internal error: ${messageOf(error)}`));
  }
  return undefined;
}

/** Takes the end of stream of a client as its leaving: the close of a unix socket looks the same. */
function leaving(client: Socket): AbortSignal {
  const gone = new AbortController();
  client.once('end', () => client.destroy()).once('close', () => gone.abort());
  return gone.signal;
}

function headOf(status: number, fields: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries({ ...fields, Connection: 'close' });
  return headBytes(
    `HTTP/1.1 ${status} `,
    lines.map(([name, value]) => field(name, value)),
  );
}

/** Sends a response, and ends the connection. */
function end(
  client: Socket,
  status: number,
  fields: Readonly<Record<string, string>> = {},
  body = '',
): void {
  if (client.destroyed) return;
  client.setTimeout(REQUEST_MS);
  client.write(headOf(status, { ...fields, 'Content-Length': String(Buffer.byteLength(body)) }));
  client.resume().end(body);
}

const reply = (client: Socket, status: number, value: unknown): void =>
  end(client, status, { 'Content-Type': 'application/json' }, `${JSON.stringify(value)}\n`);

const isUpgrade = ({ head: { method, target, fields } }: ReceivedRequest): boolean =>
  method === 'GET' &&
  splitRequestTarget(target).path === '/control/flow' &&
  valuesOf(fields, 'upgrade').includes(FLOW_PROTOCOL);

/** Takes over a connection for a flow: `GET /control/flow?outbound=TAG&host=HOST&port=PORT`. */
function openFlow(
  { head: { target }, ahead }: ReceivedRequest,
  client: Socket,
  handlers: ControlHandlers,
): void {
  const { port, ...place } = Object.fromEntries(
    new URLSearchParams(splitRequestTarget(target).query),
  );
  client.setTimeout(0);
  client.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${FLOW_PROTOCOL}\r\n\r\n`,
  );
  if (ahead.length > 0) client.unshift(ahead);
  void handlers.connect({ ...place, port: Number(port) }, client);
}
