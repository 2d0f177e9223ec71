import { pipeline } from 'node:stream/promises';
import { a } from '../support/peers/dns-server.ts';
import { namesOverUdp, type NamesOverUdp } from '../support/peers/names-over-udp.ts';
import { receiveBody, sendBody } from '../support/data/pattern.ts';
import { readUpTo } from '../support/read.ts';
import { tcpServer, type Origin } from '../support/peers/servers.ts';

/** What the first byte of a connection asks the origin for. */
export const MODE = {
  /** Every byte back. */
  echo: 'E'.charCodeAt(0),
  /** The digest of all, once the client has ended. */
  digest: 'D'.charCodeAt(0),
  /** A body and the end of it, then the origin reads on. */
  body: 'B'.charCodeAt(0),
  /** A reset. */
  reset: 'R'.charCodeAt(0),
  /** Nothing. */
  silence: 'S'.charCodeAt(0),
} as const;

/** What the origin sends as a body. */
export const BODY_SIZE = 40_000;

export const startOrigin = (): Promise<Origin> =>
  tcpServer(async (socket) => {
    const mode = (await readUpTo(socket, 1))?.[0];
    switch (mode) {
      case undefined:
        // A client that left without a byte. There is no other event to wait for.
        socket.end();
        break;
      case MODE.echo:
        await pipeline(socket, socket);
        break;
      case MODE.digest:
        socket.end(JSON.stringify(await receiveBody(socket)));
        break;
      case MODE.body:
        await sendBody(socket, BODY_SIZE);
        socket.end();
        socket.resume();
        break;
      case MODE.reset:
        socket.resetAndDestroy();
        break;
      default:
        socket.resume().on('end', () => socket.end());
    }
  }, '0.0.0.0');

/** Names that resolve to 127.0.0.1; those below `none` do not exist, those below `silent` time out. */
export const startNames = (): Promise<NamesOverUdp> =>
  namesOverUdp((name, type) => {
    if (name.endsWith('.silent.soak.test')) return undefined;
    if (name.endsWith('.none.soak.test')) return { rcode: 3 };
    return { answers: type === 'A' ? [a(name, '127.0.0.1', 20)] : [] };
  });
