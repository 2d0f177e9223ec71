import { Socket } from 'node:net';
import type { StreamSocket } from '../../../platform/sockets/streams/stream-socket.ts';

const CLOSED = { allowHalfOpen: true } as const;
const OPEN = { allowHalfOpen: true, readable: true, writable: true, pauseOnCreate: true } as const;

/**
 * Hands a kernel socket over to Node, for layers that need a socket of Node. Reading is paused.
 *
 * @throws the error of Node for a descriptor that it cannot use, which is closed then.
 */
export function nodeSocket(kernel: StreamSocket): Socket {
  const { calls } = kernel.io;
  const fd = kernel.release();
  let socket: Socket;
  try {
    socket = new Socket(fd < 0 ? CLOSED : { fd, ...OPEN });
  } catch (error) {
    if (fd >= 0) {
      calls.debug?.adopt(fd);
      calls.close(fd);
    }
    throw error;
  }
  // An error before a layer has taken over the socket must not end the process.
  socket.on('error', () => undefined);
  if (fd < 0) socket.destroy();
  return socket;
}
