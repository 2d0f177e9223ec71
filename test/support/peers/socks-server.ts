import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { readExactly } from '../read.ts';
import { decodeAddress, type Target } from './socks-client.ts';

/** The reply of success, with 0.0.0.0:0 as the bound address. */
export const GRANTED = Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);

/** The server's side of a SOCKS5 connect without authentication, up to its reply. */
export async function readConnect(socket: Socket): Promise<Target> {
  const [, methods] = await readExactly(socket, 2);
  await readExactly(socket, methods ?? 0);
  socket.write(Buffer.from([5, 0]));
  const head = await readExactly(socket, 5);
  const kind = head[3] ?? 0;
  const rest = kind === 1 ? 5 : kind === 4 ? 17 : (head[4] ?? 0) + 2;
  const { host, port } = decodeAddress(
    Buffer.concat([head.subarray(3), await readExactly(socket, rest)]),
  );
  return { host, port };
}

/**
 * A SOCKS5 proxy for connects, in the place of an upstream that fails and comes back: `kill` closes
 * its port and its connections, `revive` brings it back on the same port.
 */
export class SocksServer implements AsyncDisposable {
  readonly host = '127.0.0.1';
  /** Where it was asked to go, in order. */
  readonly targets: Target[] = [];
  #server: Server | undefined;
  #port = 0;
  readonly #sockets = new Set<Socket>();

  static async start(): Promise<SocksServer> {
    const server = new SocksServer();
    await server.revive();
    return server;
  }

  get port(): number {
    return this.#port;
  }

  get address(): Target {
    return { host: this.host, port: this.#port };
  }

  async revive(): Promise<void> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      this.#keep(socket);
      void this.#serve(socket).catch(() => socket.destroy());
    });
    server.listen(this.#port, this.host);
    await once(server, 'listening');
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async kill(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#server = undefined;
    const closed = once(server, 'close');
    server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  async #serve(socket: Socket): Promise<void> {
    const { host, port } = await readConnect(socket);
    this.targets.push({ host, port });
    const remote = connect({ host, port, allowHalfOpen: true, noDelay: true });
    this.#keep(remote);
    await once(remote, 'connect');
    socket.write(GRANTED);
    await Promise.all([pipeline(socket, remote), pipeline(remote, socket)]);
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
  }
}
