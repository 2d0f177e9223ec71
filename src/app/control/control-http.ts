import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { messageOf } from '../../errors.ts';
import { isObject, isText } from '../../schema/json-check.ts';
import { ApiRouter, splitRequestTarget, type RouteKey } from '../../api/http/api-router.ts';
import { MAX_REQUEST, REQUEST_MS, type ControlHandlers } from './control-handlers.ts';
import { failed, FLOW_PROTOCOL, jsonIn, problemOfCause } from './messages.ts';

/** A request, and what its response is written to. */
interface ControlRequest {
  /** The parsed body; `undefined` without one. */
  readonly body: unknown;
  readonly response: ServerResponse;
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
    async answer({ log }, { body, response, gone }) {
      gone();
      // Written to the socket itself, which has a line at once: a response gathers what is written in a turn, and the
      // last line of a process is followed by the end of its connections.
      response.useChunkedEncodingByDefault = false;
      response.setHeader('Content-Type', 'application/x-ndjson');
      response.flushHeaders();
      const { socket } = response;
      if (socket) await log(body ?? {}, socket);
    },
  },
];

const textIn = (body: unknown, key: string): string | undefined => {
  const value = isObject(body) ? body[key] : undefined;
  return isText(value) ? value : undefined;
};

/** Serves HTTP on connections of the control socket, one request on each. */
export function controlHttp(handlers: ControlHandlers): (client: Socket) => void {
  const router = new ApiRouter(ROUTES);
  const server = createServer({ requireHostHeader: false });
  // A client that half-closes after its request still gets the response.
  Object.assign(server, { httpAllowHalfOpen: true });
  server
    .on('request', (request, response) => void serve(request, response, router, handlers))
    .on('upgrade', (request: IncomingMessage, client: Socket, head: Buffer) =>
      openFlow(request, client, head, handlers),
    )
    .on('clientError', (_error, client) => void client.destroy());
  return (client) => {
    server.emit('connection', client);
    client.resume();
  };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  router: ApiRouter<ControlRoute>,
  handlers: ControlHandlers,
): Promise<void> {
  const { socket, method = '', url = '' } = request;
  response.shouldKeepAlive = false;
  const routed = router.find(method, splitRequestTarget(url).path);
  if (routed.kind !== 'found') {
    const allow = routed.kind === 'wrong_method' ? { Allow: routed.allow } : {};
    response.writeHead(routed.kind === 'unknown' ? 404 : 405, allow).end();
    return;
  }
  try {
    const text = await bodyOf(request);
    if (text === undefined) {
      response.writeHead(413).end(() => socket.destroy());
      return;
    }
    socket.setTimeout(0);
    const gone = (): AbortSignal => leaving(socket);
    const body = text === '' ? undefined : (jsonIn(text) ?? null);
    const value = await routed.route.answer(handlers, { body, response, gone });
    if (value !== undefined) reply(response, 200, value);
  } catch (error) {
    reply(response, 500, failed(`internal error: ${messageOf(error)}`));
  }
}

/** Reads the body of a request; `undefined` when it is too long. Rejects when the client has disconnected. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_REQUEST) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Takes the end of stream of a client as its leaving: the close of a unix socket looks the same. */
function leaving(client: Socket): AbortSignal {
  const gone = new AbortController();
  client.once('end', () => client.destroy()).once('close', () => gone.abort());
  return gone.signal;
}

function reply(response: ServerResponse, status: number, value: unknown): void {
  if (response.headersSent) response.destroy();
  if (response.destroyed) return;
  response.socket?.setTimeout(REQUEST_MS);
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(`${JSON.stringify(value)}\n`);
}

/** Takes over a connection for a flow: `GET /control/flow?outbound=TAG&host=HOST&port=PORT`. */
function openFlow(
  { method, url = '', headers }: IncomingMessage,
  client: Socket,
  head: Buffer,
  handlers: ControlHandlers,
): void {
  const { path, query } = splitRequestTarget(url);
  const isFlow = path === '/control/flow' && headers.upgrade === FLOW_PROTOCOL;
  if (method !== 'GET' || !isFlow) {
    client.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    return;
  }
  const { port, ...place } = Object.fromEntries(new URLSearchParams(query));
  client.setTimeout(0);
  client.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${FLOW_PROTOCOL}\r\n\r\n`,
  );
  if (head.length > 0) client.unshift(head);
  void handlers.connect({ ...place, port: Number(port) }, client);
}
