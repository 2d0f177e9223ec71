import { once } from 'node:events';
import { Socket } from 'node:net';
import { asError, WeirError } from '@weir/base';
import { FLOW_PROTOCOL } from './messages.ts';

/*
 * HTTP over the control socket, one request on a connection, so that a response ends with it. A Weir of 2.1.0 or before
 * closes the connection at the sight of a request, which has no effect; it is then asked by a line. That goes with the
 * release after 2.1.1.
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
 * @param most characters of a line
 * @throws the error of the socket, or the reason of `signal`
 */
export async function* linesOf(
  path: string,
  call: ControlCall,
  most: number,
  signal?: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const response = await ask(path, call, signal);
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
  } finally {
    signal?.removeEventListener('abort', onAbort);
    response.destroy();
  }
}

/**
 * Asks for a flow.
 * @returns the connection, on which a line of JSON comes first; it has ended when the process has
 * @throws the error of the socket, or the reason of `signal`
 */
export const openFlow = (
  path: string,
  { query, line }: { readonly query: string; readonly line: string },
  signal?: AbortSignal,
): Promise<Socket | undefined> =>
  ask(path, { method: 'GET', path: `/control/flow?${query}`, line }, signal, [
    'Connection: Upgrade',
    `Upgrade: ${FLOW_PROTOCOL}`,
  ]);

/** Sends a request; `undefined` when the process has ended, otherwise the connection before the body of its response. */
async function ask(
  path: string,
  { method, path: target, body, line }: ControlCall,
  signal: AbortSignal | undefined,
  fields: readonly string[] = ['Connection: close'],
): Promise<Socket | undefined> {
  const text = body && JSON.stringify(body);
  const head = [`${method} ${target} HTTP/1.1`, 'Host: weir', ...fields];
  if (text !== undefined) {
    head.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`);
  }
  const client = await send(path, `${head.join('\r\n')}\r\n\r\n${text ?? ''}`, signal);
  if (await passHead(client, signal)) return client;
  client.destroy();
  try {
    return await send(path, `${line}\n`, signal);
  } catch {
    signal?.throwIfAborted();
    return undefined; // it has ended since
  }
}

/** Connects and sends a text. @throws the error of the connection */
async function send(path: string, text: string, signal: AbortSignal | undefined): Promise<Socket> {
  const client = new Socket({ allowHalfOpen: true });
  try {
    client.connect({ path });
    await once(client, 'connect', { signal });
    client.on('error', () => undefined).write(text);
    return client;
  } catch (error) {
    client.destroy();
    throw error;
  }
}

/** Maximum bytes of a line of the head of a response. */
const MAX_HEAD_LINE = 4096;

/** Reads the head of a response; returns whether there is one. @throws the reason of `signal` */
async function passHead(client: Socket, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    let line = await readLine(client, MAX_HEAD_LINE, signal);
    if (line?.startsWith('HTTP/1.') !== true) return false;
    while (line !== undefined && line !== '\r')
      line = await readLine(client, MAX_HEAD_LINE, signal);
    return line !== undefined;
  } catch {
    signal?.throwIfAborted();
    return false; // a reset
  }
}

const LINE_FEED = 0x0a;

/**
 * Reads a line; data behind it stays in the socket.
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
