import { lookup } from 'node:dns/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { codeOf, messageOf, WeirError } from '../errors.ts';
import { formatEndpoint, type Endpoint } from '../net/address.ts';
import { KEEP_ALIVE_DELAY_MS } from '../net/time-limits.ts';
import { unlessAborted } from '../net/unless-aborted.ts';
import type { ListenSpec } from '../spec.ts';
import { bindUnixSocket } from './unix-socket.ts';

/** Connections that the kernel may queue: a burst of clients must not be refused. */
export const BACKLOG = 4096;

/** A listener that could not be bound. */
export class BindError extends WeirError {
  constructor(where: string, cause: unknown) {
    super('bind', `cannot listen on ${where}: ${bindReason(cause)}`, { cause });
  }
}

/** A bound listening socket, TCP or unix. */
export interface Listener {
  /** The bound address with the port that the kernel chose, or the socket's path. */
  readonly address: string;
  /** The same as data; `undefined` for a unix socket. */
  readonly endpoint: Endpoint | undefined;
  /** Stops accepting and frees the address at once; accepted connections stay open. */
  close(): Promise<void>;
}

/**
 * Binds and accepts until closed; `onSocket` owns each accepted connection.
 *
 * A host name is resolved now and its addresses are tried in order. A unix socket file that a dead
 * process left behind is replaced.
 *
 * @param signal ends the wait for the addresses of a host name
 * @throws {BindError} when nothing could be bound
 * @throws the reason of `signal`
 */
export async function listenTcp(
  spec: ListenSpec,
  onSocket: (socket: Socket) => void,
  signal?: AbortSignal,
): Promise<Listener> {
  switch (spec.kind) {
    case 'unix':
      return listenUnix(spec.path, onSocket);
    case 'ip':
      return bind({ host: spec.host, port: spec.port }, onSocket);
    case 'name':
      return listenName(spec, onSocket, signal);
    default:
      return spec satisfies never;
  }
}

async function listenName(
  { host, port }: Endpoint,
  onSocket: (socket: Socket) => void,
  signal: AbortSignal | undefined,
): Promise<Listener> {
  let failure: unknown;
  try {
    const found = lookup(host, { all: true, order: 'verbatim' });
    for (const { address } of await unlessAborted(found, signal)) {
      try {
        return await bind({ host: address, port }, onSocket);
      } catch (error) {
        failure ??= error;
      }
    }
  } catch (error) {
    signal?.throwIfAborted();
    failure = error;
  }
  throw failure instanceof BindError
    ? failure
    : new BindError(formatEndpoint({ host, port }), failure);
}

const listenUnix = (path: string, onSocket: (socket: Socket) => void): Promise<Listener> =>
  bindUnixSocket(path, () => bind({ path }, onSocket));

async function bind(
  where: Endpoint | { readonly path: string },
  onSocket: (socket: Socket) => void,
): Promise<Listener> {
  const server = createServer(
    {
      allowHalfOpen: true, // half-close is part of every link's promise
      pauseOnConnect: true, // nothing is read before a handler reads
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS,
    },
    onSocket,
  );
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen({ ...where, backlog: BACKLOG }, resolve);
  try {
    await promise;
  } catch (error) {
    throw new BindError('path' in where ? where.path : formatEndpoint(where), error);
  }
  server.off('error', reject);
  // A failed accept costs one connection, not the listener. Running out of descriptors is not
  // reported here: libuv then accepts and closes pending connections silently (Node 26.10).
  server.on('error', () => undefined);
  const address = server.address();
  const close = (): Promise<void> => closeServer(server);
  if (address === null || typeof address === 'string') {
    return { address: address ?? '', endpoint: undefined, close };
  }
  const endpoint = { host: address.address, port: address.port };
  return { address: formatEndpoint(endpoint), endpoint, close };
}

/** `close` frees the address in the same tick; its callback would wait for every connection. */
function closeServer(server: Server): Promise<void> {
  server.close();
  return Promise.resolve();
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'address already in use',
  EADDRNOTAVAIL: 'this host has no such address',
  EACCES: 'permission denied',
};

/** Why an address could not be bound, in words. */
export const bindReason = (cause: unknown): string =>
  REASONS[codeOf(cause) ?? ''] ?? messageOf(cause);
