import type { Socket } from 'node:net';
import { open, type Address } from '../data/address.ts';
import { readHead } from '../read.ts';

/** The head of an HTTP response; header names in lower case. */
export interface Head {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
}

/** Writes a request head as it is given and reads the head of the response. */
export async function ask(socket: Socket, head: string): Promise<Head> {
  socket.write(head);
  return parseHead(await readHead(socket));
}

export function parseHead(text: string): Head {
  const [first = '', ...lines] = text.trimEnd().split('\r\n');
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1];
  if (status === undefined) throw new Error(`no HTTP response: ${first}`);
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { status: Number(status), headers: new Map(headers) };
}

/** Asks `proxy` for a tunnel; the socket is usable when the status is 200. */
export async function httpConnect(
  proxy: Address,
  authority: string,
  extra = '',
): Promise<Head & { readonly socket: Socket }> {
  const socket = await open(proxy);
  const text = `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${extra}\r\n`;
  try {
    return { ...(await ask(socket, text)), socket };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** A tunnel to `authority`, or a failure with the status that the proxy gave. */
export async function httpTunnel(proxy: Address, authority: string): Promise<Socket> {
  const { status, socket } = await httpConnect(proxy, authority);
  if (status === 200) return socket;
  socket.destroy();
  throw new Error(`CONNECT ${authority}: ${status}`);
}
