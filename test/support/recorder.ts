import type { Socket } from 'node:net';
import { readExactly } from './read.ts';
import { decodeAddress, type Target } from './socks-client.ts';
import { tcpServer, type Origin } from './servers.ts';

/**
 * A SOCKS5 proxy that goes nowhere: it grants every connect, writes down where it was to go, says
 * its own name and ends. Several of them behind one program show which outbound a flow took.
 */
export interface Recorder extends Origin {
  readonly name: string;
  readonly targets: readonly Target[];
}

export async function recorder(name: string): Promise<Recorder> {
  const targets: Target[] = [];
  const origin = await tcpServer(async (socket) => {
    targets.push(await grant(socket));
    socket.resume();
    socket.end(name);
  });
  return { ...origin, name, targets };
}

/** The server's side of a SOCKS5 connect without authentication. */
async function grant(socket: Socket): Promise<Target> {
  const [, methods] = await readExactly(socket, 2);
  await readExactly(socket, methods ?? 0);
  socket.write(Buffer.from([5, 0]));
  const head = await readExactly(socket, 5);
  const kind = head[3] ?? 0;
  const rest = kind === 1 ? 5 : kind === 4 ? 17 : (head[4] ?? 0) + 2;
  const target = decodeAddress(Buffer.concat([head.subarray(3), await readExactly(socket, rest)]));
  socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
  return { host: target.host, port: target.port };
}
