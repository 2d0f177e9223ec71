import { networkInterfaces } from 'node:os';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port that is free for TCP and UDP on loopback, for programs that cannot let the
 * kernel choose. Taken from below the kernel's range for outgoing connections, so that none of
 * those takes it in the meantime, and given to no other caller in any test while this process runs.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 18_000);
    if ((await claim(port)) && (await isFree(port))) return port;
  }
}

export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await freePort());
  return ports;
}

/** Test files are processes of their own: an abstract socket's name is one's alone, until its process ends. */
async function claim(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(`\0weir-test-port-${port}`);
    await once(server, 'listening');
    server.unref();
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return false;
    throw error;
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

/** Whether this machine has the loopback address of IPv6. */
export const hasIPv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
);
