import { connect, type Socket } from 'node:net';
import type { Endpoint } from '../../addresses/address.ts';
import { abortedDial, toDialError } from '../../errors.ts';
import type { Carrier } from '../../links/link.ts';
import type { ConnectOptions } from '../sockets.ts';
import { KEEP_ALIVE_DELAY_MS } from '../../time/time-limits.ts';
import { endsOf, socketCarrier } from './socket-carrier.ts';

/**
 * Opens a TCP connection to one IP address in text (no name is resolved here), as a link.
 *
 * @throws {DialError} as `connectSocket` does.
 */
export const connectTcp = async (
  address: string,
  port: number,
  options: ConnectOptions,
): Promise<Carrier> => {
  const socket = await connectSocket(address, port, options);
  // The kernel no longer has the addresses when the peer has reset the connection meanwhile.
  const remote = { host: address, port };
  return { ...socketCarrier(socket, socket, endsOf(socket)), remote };
};

/**
 * Opens a TCP connection to one IP address in text, for layers that need Node's own socket.
 *
 * An idle connection costs 5 KB of resident memory with its link, whatever its high-water mark is
 * (measured with 16, 64 and 256 KB), so Node's default is kept. The listeners of the dial are removed
 * before the link takes over the socket.
 *
 * @throws {DialError} with the kernel's reason, or that of `signal`, which also destroys the socket.
 */
export function connectSocket(
  address: string,
  port: number,
  { signal, onSocket }: ConnectOptions,
): Promise<Socket> {
  const target: Endpoint = { host: address, port };
  if (signal.aborted) return Promise.reject(abortedDial(signal, target));
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: address,
      port,
      allowHalfOpen: true,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS,
      autoSelectFamily: false,
    });
    // Node begins to connect in the next tick, and caches the local address that it finds before that, which is none,
    // until the connection is established: too late for a listener of this process, which may accept it earlier.
    let hasBegun = false;
    process.nextTick(() => (hasBegun = true));
    onSocket?.({
      get local() {
        return hasBegun ? endsOf(socket).local : undefined;
      },
      onClose: (callback) => void socket.once('close', callback),
    });
    const settle = (): void => {
      signal.removeEventListener('abort', onAbort);
      socket.off('connect', onConnect);
      socket.off('error', onError);
    };
    const onConnect = (): void => {
      settle();
      socket.on('error', () => undefined);
      resolve(socket);
    };
    const onError = (error: Error): void => {
      settle();
      reject(toDialError(error, target));
    };
    const onAbort = (): void => {
      settle();
      // A socket that is destroyed without an error emits none later.
      socket.destroy();
      reject(abortedDial(signal, target));
    };
    socket.on('connect', onConnect);
    socket.on('error', onError);
    signal.addEventListener('abort', onAbort);
  });
}
