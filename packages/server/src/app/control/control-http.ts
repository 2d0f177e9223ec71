import type { Socket } from 'node:net';
import {
  RequestRouter,
  splitRequestTarget,
  withHead,
  type RouteKey,
} from '../../local-http/router.ts';
import { messageOf } from '@weir/base';
import { GrowingBytes } from '@weir/base/bytes';
import { jsonIn } from '@weir/base/text/json';
import {
  field,
  headBytes,
  MessageError,
  parseRequestHead,
  type RequestHead,
  valuesOf,
} from '@weir/http/http1';
import { isObject, isText } from '@weir/proxy/schema';
import { type ControlHandlers, leaving, MAX_REQUEST, REQUEST_MS } from './control-handlers.ts';
import { failed, FLOW_PROTOCOL, problemOfCause } from './messages.ts';

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
  readonly handle: (handlers: ControlHandlers, request: ControlRequest) => unknown;
}

const ROUTES: readonly ControlRoute[] = [
  { method: 'GET', path: '/control/status', handle: ({ status }) => status() },
  { method: 'GET', path: '/control/loaded-files', handle: ({ loadedFiles }) => loadedFiles() },
  { method: 'GET', path: '/control/drain', handle: ({ drain }) => drain('show') },
  { method: 'POST', path: '/control/drain', handle: ({ drain }) => drain('begin') },
  { method: 'DELETE', path: '/control/drain', handle: ({ drain }) => drain('undo') },
  {
    method: 'POST',
    path: '/control/reload',
    handle({ reload }, { body }) {
      if (body === undefined) return reload(undefined);
      const cause = textIn(body, 'cause');
      const problem = cause === undefined ? 'expected {"cause":TEXT}' : problemOfCause(cause);
      return problem === undefined ? reload(cause) : failed(problem);
    },
  },
  {
    method: 'PUT',
    path: '/control/log-level',
    handle({ setLogFilter }, { body }) {
      const filter = textIn(body, 'filter');
      return filter === undefined ? failed('expected {"filter":FILTER}') : setLogFilter(filter);
    },
  },
  {
    method: 'POST',
    path: '/control/user-flows',
    handle: ({ userFlows }, { body }) => userFlows(body),
  },
  { method: 'POST', path: '/control/limits', handle: ({ limits }, { body }) => limits(body) },
  {
    method: 'POST',
    path: '/control/profile',
    handle: ({ profile }, { body, gone }) => profile(body, gone()),
  },
  {
    method: 'POST',
    path: '/control/usage',
    async handle({ usage }, { body, client, gone }) {
      const left = gone();
      client.write(headOf(200, { 'Content-Type': 'application/x-ndjson' }));
      await usage(body ?? {}, client, left);
    },
  },
  {
    method: 'POST',
    path: '/control/log',
    async handle({ log }, { body, client, gone }) {
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

const ROUTER = new RequestRouter(withHead(ROUTES));

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
  const request = new RequestReader();
  let result = request.add(read);
  if (result !== undefined) return result;
  const chunks = client.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  for await (const chunk of chunks) {
    result = request.add(chunk);
    if (result !== undefined) return result;
  }
  return undefined;
}

/** Puts a request together; a byte is looked at once, whatever the size of the pieces. */
export class RequestReader {
  readonly #read = new GrowingBytes();
  #head: RequestHead | undefined;
  /** Offset of the body, and its length, once there is a head. */
  #start = 0;
  #length = 0;

  /** Adds a piece. Returns `undefined` while the request is incomplete, or the status for an invalid one. */
  add(piece: Buffer): ReceivedRequest | number | undefined {
    const searched = Math.max(0, this.#read.length - HEAD_END.length + 1);
    this.#read.append(piece);
    const { buffer, byteOffset, length } = this.#read.bytes;
    const bytes = Buffer.from(buffer, byteOffset, length);
    if (this.#head === undefined) {
      const problem = this.#findHead(bytes, searched);
      if (problem !== undefined) return problem;
    }
    const end = this.#start + this.#length;
    if (this.#head === undefined || bytes.length < end) return undefined;
    return {
      head: this.#head,
      body: bytes.toString('utf8', this.#start, end),
      ahead: bytes.subarray(end),
    };
  }

  /** Looks for the end of the head from an offset. Returns the status for an invalid one. */
  #findHead(bytes: Buffer, from: number): number | undefined {
    const end = bytes.indexOf(HEAD_END, from);
    if (end > MAX_HEAD || (end < 0 && bytes.length > MAX_HEAD)) return 431;
    if (end < 0) return undefined;
    this.#start = end + HEAD_END.length;
    try {
      const head = parseRequestHead(bytes.subarray(0, this.#start));
      if (valuesOf(head.fields, 'transfer-encoding').length > 0) return 411;
      this.#length = Number(valuesOf(head.fields, 'content-length')[0] ?? 0);
      if (!Number.isSafeInteger(this.#length) || this.#length < 0) return 400;
      if (this.#length > MAX_REQUEST) return 413;
      this.#head = head;
      return undefined;
    } catch (error) {
      if (error instanceof MessageError) return error.status;
      throw error;
    }
  }
}

async function respond(
  { head: { method, target }, body: text }: ReceivedRequest,
  client: Socket,
  handlers: ControlHandlers,
): Promise<void> {
  const routed = ROUTER.find(method, splitRequestTarget(target).path.split('/'));
  if (routed.kind === 'unknown') return end(client, 404);
  if (routed.kind === 'wrong_method') return end(client, 405, { Allow: routed.allow.join(',') });
  client.resume().setTimeout(0);
  const body = text === '' ? undefined : (jsonIn(text) ?? null);
  const gone = (): AbortSignal => leaving(client);
  try {
    const value = await routed.route.handle(handlers, { body, client, gone });
    if (value !== undefined) reply(client, 200, value);
  } catch (error) {
    reply(client, 500, failed(`internal error: ${messageOf(error)}`));
  }
  return undefined;
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
