import type { KernelIo } from '../../platform/sockets/kernel-io.ts';
import type { SocketAddress } from '../../platform/sockets/sockaddr.ts';
import { StreamListener } from '../../platform/sockets/stream-listener.ts';
import type { StreamSocket } from '../../platform/sockets/stream-socket.ts';
import type { Endpoint } from '../address.ts';
import type { Carrier } from '../link.ts';
import { KernelLink } from './kernel-link.ts';
import type { LinkWatchdog } from './watchdog.ts';

export interface KernelListenerOptions {
  readonly onCarrier: (carrier: Carrier) => void;
  /** Accepting waits for descriptors; once for each time that it is held back. */
  readonly onHeldBack?: ((reason: string) => void) | undefined;
  readonly watchdog?: LinkWatchdog | undefined;
}

/** A bound listening socket whose connections are kernel links. */
export interface KernelListener {
  /** `undefined` for a unix socket. */
  readonly endpoint: Endpoint | undefined;
  /** Stops accepting and frees the address at once; accepted connections live on. Idempotent. */
  close(): void;
}

/**
 * Binds to an IP address or a path, and accepts until closed.
 *
 * @throws {SystemError} with the code and the text of node:net.
 */
export function listenKernel(
  io: KernelIo,
  where: Endpoint | { readonly path: string },
  { onCarrier, onHeldBack, watchdog }: KernelListenerOptions,
): KernelListener {
  const onSocket = (socket: StreamSocket, remote: SocketAddress | undefined): void => {
    const link = new KernelLink(socket, watchdog);
    const local = isWildcard ? endpointOf(io.addresses.localOf(socket.fd)) : endpoint;
    onCarrier({ link, wire: link, remote: endpointOf(remote), local });
  };
  const listener = new StreamListener(io, where, { onSocket, onHeldBack });
  const endpoint = endpointOf(listener.local);
  // Bound to one address, that is what every connection has.
  const isWildcard = endpoint !== undefined && WILDCARDS.has(endpoint.host);
  return { endpoint, close: () => listener.close() };
}

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

const endpointOf = (address: SocketAddress | undefined): Endpoint | undefined =>
  address && 'host' in address ? address : undefined;
