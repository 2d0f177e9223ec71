import { connect, type Socket } from 'node:net';
import { within } from '../wait.ts';

/** Where a program under test listens. */
export type Address = { readonly host: string; readonly port: number } | { readonly path: string };

/** Reads an address as log lines write it: `127.0.0.1:80`, `[::1]:80`, `/run/weir.sock`. */
export function parseAddress(text: string): Address {
  if (text.startsWith('/')) return { path: text };
  const colon = text.lastIndexOf(':');
  const host = text.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  return { host, port: Number(text.slice(colon + 1)) };
}

/** `host:port` with brackets around IPv6. */
export function hostPort(address: Address): string {
  if ('path' in address) return address.path;
  const { host, port } = address;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The port of an address that has one. */
export function portOf(address: Address): number {
  if ('path' in address) throw new Error(`${address.path} has no port`);
  return address.port;
}

/** A connected socket with half-close left to the caller. */
export async function open(
  address: Address,
  options: { readonly localAddress?: string } = {},
): Promise<Socket> {
  const socket = connect({ ...address, ...options, allowHalfOpen: true });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once('connect', resolve).once('error', reject);
  try {
    await within(promise, `a connection to ${hostPort(address)}`);
  } catch (error) {
    socket.destroy();
    throw error;
  }
  socket.off('error', reject);
  // A later failure shows in what is read; an unhandled error event would end the process.
  socket.on('error', () => undefined);
  return socket;
}

/** Whether there is a listener: the file of a socket is there before, and may be left by a process that has ended. */
export const isListening = (address: Address): Promise<boolean> =>
  open(address).then(
    (socket) => {
      socket.destroy();
      return true;
    },
    () => false,
  );

/** A socket for `using`, destroyed at the end of its block. */
export function disposable(socket: Socket): Socket & Disposable {
  return Object.assign(socket, { [Symbol.dispose]: () => void socket.destroy() });
}
