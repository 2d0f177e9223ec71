import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port that is free for TCP and UDP on loopback, for programs that cannot let the
 * kernel choose. Taken from below the kernel's range for outgoing connections, so that none of
 * those takes it in the meantime.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 18_000);
    if (await isFree(port)) return port;
  }
}

/** Whether the port is free on every address. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const socket = createSocket('udp4');
  try {
    server.listen({ port, host: '0.0.0.0' });
    await once(server, 'listening');
    socket.bind({ port, address: '0.0.0.0', exclusive: true });
    await once(socket, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
    socket.close();
  }
}
