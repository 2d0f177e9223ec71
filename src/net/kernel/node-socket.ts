import { Socket } from 'node:net';
import type { StreamSocket } from '../../platform/sockets/stream-socket.ts';

const CLOSED = { allowHalfOpen: true } as const;
const OPEN = { allowHalfOpen: true, readable: true, writable: true, pauseOnCreate: true } as const;

/** Hands a kernel socket over to Node, for layers that need a socket of Node's; it is not read yet. */
export function nodeSocket(kernel: StreamSocket): Socket {
  const fd = kernel.release();
  const socket = new Socket(fd < 0 ? CLOSED : { fd, ...OPEN });
  // An error before a layer has taken the socket over must not end the process.
  socket.on('error', () => undefined);
  if (fd < 0) socket.destroy();
  return socket;
}
