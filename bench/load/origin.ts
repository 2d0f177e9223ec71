import { createSocket, type Socket as DatagramSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/**
 * The far end of every load. The first byte of a connection selects its mode, so that one port
 * serves relays with a single fixed target.
 */
export const MODE = {
  /** Sends without end. */
  download: 'D'.charCodeAt(0),
  /** Discards. */
  upload: 'U'.charCodeAt(0),
  /** Sends every byte back. */
  echo: 'E'.charCodeAt(0),
  /** Responds to each request of `REQUEST_SIZE` bytes with `RESPONSE_SIZE`. */
  request: 'R'.charCodeAt(0),
} as const;

export const REQUEST_SIZE = 100;
export const RESPONSE_SIZE = 1000;

const BLOCK = Buffer.alloc(512 << 10, 0x61);
const RESPONSE = Buffer.alloc(RESPONSE_SIZE, 0x62);

export interface Origin {
  readonly port: number;
  /** Bytes that `upload` connections have discarded. */
  readonly discarded: () => number;
  close(): void;
}

/** Listens for TCP and, at the same port, for datagrams, which it sends back. */
export async function startOrigin(host = '127.0.0.1'): Promise<Origin> {
  let discarded = 0;
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (first: Buffer) => {
      const rest = first.subarray(1);
      switch (first[0] ?? MODE.echo) {
        case MODE.download:
          pour(socket);
          break;
        case MODE.upload:
          discarded += rest.length;
          socket.on('data', (chunk: Buffer) => {
            discarded += chunk.length;
            // Freed at once: what is measured must not be this process's collector.
            const { buffer } = chunk;
            if (buffer instanceof ArrayBuffer && chunk.length === buffer.byteLength) {
              buffer.transfer(0);
            }
          });
          break;
        case MODE.request:
          serveRequests(socket, rest.length);
          break;
        default:
          if (rest.length > 0) socket.write(rest);
          socket.on('data', (chunk: Buffer) => void socket.write(chunk));
      }
      socket.on('end', () => socket.end());
    });
  });
  const { port, datagrams } = await listenBoth(server, host);
  datagrams.on('message', (message, from) => datagrams.send(message, from.port, from.address));
  return {
    port,
    discarded: () => discarded,
    close: () => {
      server.close();
      datagrams.close();
    },
  };
}

/** The kernel chooses a port free for TCP alone: for UDP it may be in use already. */
async function listenBoth(
  server: Server,
  host: string,
): Promise<{ readonly port: number; readonly datagrams: DatagramSocket }> {
  const ATTEMPTS = 10;
  for (let attempt = 1; ; attempt++) {
    server.listen({ port: 0, host, backlog: 4096 });
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const datagrams = createSocket({
      type: 'udp4',
      recvBufferSize: 4 << 20,
      sendBufferSize: 4 << 20,
    });
    try {
      datagrams.bind(port, host);
      await once(datagrams, 'listening');
      return { port, datagrams };
    } catch (error) {
      datagrams.close();
      if (attempt === ATTEMPTS) throw error;
      server.close();
      await once(server, 'close');
    }
  }
}

/** Writes as fast as the connection takes it. */
export function pour(socket: Socket): void {
  const more = (): void => {
    while (!socket.destroyed && socket.writable && socket.write(BLOCK));
  };
  socket.on('drain', more);
  more();
}

function serveRequests(socket: Socket, first: number): void {
  let received = first;
  const respond = (): void => {
    for (; received >= REQUEST_SIZE; received -= REQUEST_SIZE) socket.write(RESPONSE);
  };
  respond();
  socket.on('data', (chunk: Buffer) => {
    received += chunk.length;
    respond();
  });
}
