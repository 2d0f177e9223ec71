import { createSocket, type Socket as Datagrams } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { portOf, type Address } from '../data/address.ts';
import { freePort } from '../ports.ts';

/** Forwards to a server and records the bytes of its clients. */
export interface RecordingRelay extends AsyncDisposable {
  readonly address: Address;
  /** What each connection has sent so far, the first one first. */
  readonly connections: () => readonly Buffer[];
  readonly datagrams: () => readonly Buffer[];
}

/** TCP and UDP at one port, as Shadowsocks has them. */
export async function recordingRelay(to: Address, at?: number): Promise<RecordingRelay> {
  const port = at ?? (await freePort());
  const target = { host: '127.0.0.1', port: portOf(to) };
  const connections: Buffer[][] = [];
  const datagrams: Buffer[] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket =>
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));

  const server = createServer({ allowHalfOpen: true }, (near) => {
    const chunks: Buffer[] = [];
    connections.push(chunks);
    const far = connect({ ...target, allowHalfOpen: true });
    for (const socket of [near, far]) sockets.add(keep(socket));
    near.on('data', (chunk: Buffer) => void chunks.push(chunk));
    near.pipe(far).pipe(near);
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');

  const socket = createSocket('udp4');
  const outward = new Map<number, Datagrams>();
  socket.on('message', (message, from) => {
    datagrams.push(message);
    let out = outward.get(from.port);
    if (!out) {
      out = createSocket('udp4').on('message', (reply) => socket.send(reply, from.port));
      outward.set(from.port, out);
    }
    out.send(message, target.port, target.host);
  });
  socket.bind(port, '127.0.0.1');
  await once(socket, 'listening');

  return {
    address: { host: '127.0.0.1', port },
    connections: () => connections.map((chunks) => Buffer.concat(chunks)),
    datagrams: () => datagrams,
    [Symbol.asyncDispose]: async () => {
      for (const one of [socket, ...outward.values()]) one.close();
      for (const one of sockets) one.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
