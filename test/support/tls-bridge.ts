import { connect, createServer, type Socket } from 'node:net';
import { connect as tlsConnect, createServer as tlsCreateServer } from 'node:tls';
import type { AddressInfo, Server } from 'node:net';
import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import { portOf, type Address } from './address.ts';
import type { TestCertificate } from './test-certificates.ts';

/** A way between somebody who speaks TLS and somebody who does not; disposing of it cuts all. */
export interface Bridge extends AsyncDisposable {
  readonly address: Address;
}

/** Takes plain connections and passes them on in TLS. */
export const intoTls = (to: Address, ca: string): Promise<Bridge> =>
  bridge(createServer({ allowHalfOpen: true }), 'connection', () =>
    tlsConnect({ host: '127.0.0.1', port: portOf(to), ca, servername: 'localhost' }),
  );

/** Takes TLS connections and passes what is in them on. */
export const outOfTls = (to: Address, certificate: TestCertificate): Promise<Bridge> =>
  bridge(tlsCreateServer({ ...certificate, allowHalfOpen: true }), 'secureConnection', () =>
    connect({ host: '127.0.0.1', port: portOf(to), allowHalfOpen: true }),
  );

async function bridge(server: Server, event: string, open: () => Socket): Promise<Bridge> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket
      .setMaxListeners(20)
      .on('error', () => undefined)
      .on('close', () => sockets.delete(socket));
  };
  const join = async (near: Socket): Promise<void> => {
    const far = keep(open());
    keep(near);
    try {
      await Promise.all([pipeline(near, far), pipeline(far, near)]);
    } catch {
      near.destroy();
      far.destroy();
    }
  };
  server.on(event, (socket: Socket) => void join(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    address: { host: '127.0.0.1', port },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
