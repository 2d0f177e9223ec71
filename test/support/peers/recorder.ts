import { tcpServer, type Origin } from './servers.ts';
import type { Target } from './socks-client.ts';
import { GRANTED, readConnect } from './socks-server.ts';

/**
 * A SOCKS5 proxy that dials nothing: it grants every connect, records its destination, sends its own
 * name and half-closes. Several of them behind one program show which outbound a flow took.
 */
export interface Recorder extends Origin {
  readonly name: string;
  readonly targets: readonly Target[];
}

export async function recorder(name: string): Promise<Recorder> {
  const targets: Target[] = [];
  const origin = await tcpServer(async (socket) => {
    targets.push(await readConnect(socket));
    socket.write(GRANTED);
    socket.resume();
    socket.end(name);
  });
  return { ...origin, name, targets };
}
