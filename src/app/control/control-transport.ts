import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, Socket } from 'node:net';
import { asError, codeOf, WeirError } from '../../errors.ts';
import { FLOW_PROTOCOL } from './messages.ts';

/*
 * HTTP over the control socket. A Weir of 2.1.0 or before closes the connection at the sight of a request, which has no
 * effect; it is then asked by a line. That goes with the release after 2.1.1.
 */

/** A request to a running Weir. */
export interface ControlCall {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: object | undefined;
  /** The request as a line. */
  readonly line: string;
}

/**
 * The lines of a response, until the end of the connection; none when the process ends, or has no such request.
 *
 * @param most characters of a line
 * @throws the error of the socket, or the reason of `signal`
 */
export async function* linesOf(
  path: string,
  call: ControlCall,
  most: number,
  signal?: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const response = (await ask(path, call, signal)) ?? (await askByLine(path, call.line, signal));
  if (!response) return;
  // An abort between two waits is thrown by the next one.
  response.setEncoding('utf8').on('error', () => undefined);
  const onAbort = (): void => void response.destroy(asError(signal?.reason));
  signal?.addEventListener('abort', onAbort);
  let pieces: string[] = [];
  let chars = 0;
  try {
    signal?.throwIfAborted();
    for await (const text of response as AsyncIterable<string>) {
      const [first = '', ...others] = text.split('\n');
      pieces.push(first);
      chars += first.length;
      if (chars > most) throw new WeirError('control_line', 'a line of the response is too long');
      for (const next of others) {
        yield pieces.join('');
        pieces = [next];
        chars = next.length;
      }
    }
  } catch (error) {
    // The end of the process is the end of its response.
    if (response instanceof Socket || codeOf(error) !== 'ECONNRESET') throw error;
  } finally {
    signal?.removeEventListener('abort', onAbort);
    response.destroy();
  }
}

/**
 * Asks for a flow.
 *
 * @returns the connection, on which a line of JSON comes first; it has ended when the process has
 * @throws the error of the socket, or the reason of `signal`
 */
export async function openFlow(
  path: string,
  { query, line }: { readonly query: string; readonly line: string },
  signal?: AbortSignal,
): Promise<Socket | undefined> {
  const call = { method: 'GET', path: `/control/flow?${query}`, line } as const;
  const response = await ask(path, call, signal, { Connection: 'Upgrade', Upgrade: FLOW_PROTOCOL });
  if (response instanceof Socket) return response;
  response?.destroy();
  return askByLine(path, line, signal);
}

/** Sends a request; `undefined` when the process has closed the connection without a response. */
function ask(
  path: string,
  { method, path: target, body }: ControlCall,
  signal: AbortSignal | undefined,
  headers: Readonly<Record<string, string>> = {},
): Promise<IncomingMessage | Socket | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<
    IncomingMessage | Socket | undefined
  >();
  const client = connect({ path, allowHalfOpen: true });
  const onAbort = (): void => void client.destroy(asError(signal?.reason));
  if (signal?.aborted === true) onAbort();
  signal?.addEventListener('abort', onAbort);
  let isConnected = false;
  client.once('connect', () => (isConnected = true));
  const text = body && JSON.stringify(body);
  httpRequest({
    method,
    path: target,
    createConnection: () => client,
    headers: {
      Host: 'weir',
      ...headers,
      ...(text !== undefined && {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(text),
      }),
    },
  })
    .once('response', resolve)
    .once('upgrade', (_response, socket: Socket, head: Buffer) => {
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    })
    .on('error', (error) => {
      client.destroy();
      if (isConnected && signal?.aborted !== true) resolve(undefined);
      else reject(error);
    })
    .end(text);
  return promise.finally(() => signal?.removeEventListener('abort', onAbort));
}

/** Sends a request as a line; `undefined` when the process has ended since it closed the connection before. */
async function askByLine(
  path: string,
  line: string,
  signal: AbortSignal | undefined,
): Promise<Socket | undefined> {
  const client = new Socket({ allowHalfOpen: true });
  try {
    client.connect({ path });
    await once(client, 'connect', { signal });
  } catch {
    client.destroy();
    signal?.throwIfAborted();
    return undefined;
  }
  client.write(`${line}\n`);
  return client;
}

const LINE_FEED = 0x0a;

/**
 * Reads a line; data behind it stays in the socket.
 *
 * @returns `undefined` when the peer ends before the end of a line, or the line is longer than `most` bytes
 * @throws the error of the socket, or the reason of `signal`
 */
export async function readLine(
  client: Socket,
  most: number,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const onAbort = (): void => void client.destroy(asError(signal?.reason));
  signal?.addEventListener('abort', onAbort);
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    signal?.throwIfAborted();
    for await (const chunk of client.iterator({
      destroyOnReturn: false,
    }) as AsyncIterable<Buffer>) {
      const end = chunk.indexOf(LINE_FEED);
      chunks.push(end < 0 ? chunk : chunk.subarray(0, end));
      length += chunk.length;
      if (end >= 0) {
        if (end + 1 < chunk.length) client.unshift(chunk.subarray(end + 1));
        return Buffer.concat(chunks).toString();
      }
      if (length > most) return undefined;
    }
    return undefined;
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}
