import { connect } from 'node:net';
import { workerData } from 'node:worker_threads';

/** What the thread is given. */
export interface LastingClients {
  readonly port: number;
  readonly count: number;
  /** What each connection sends first, and then without end. */
  readonly first: Uint8Array;
  readonly unit: Uint8Array;
}

/** Clients that send a unit again and again, as fast as it is taken, in a thread that ends when it is told to. */
const { port, count, first, unit } = workerData as LastingClients;
for (let i = 0; i < count; i++) {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined).resume();
  socket.write(first);
  const send = (): void => {
    if (socket.destroyed || unit.length === 0) return;
    if (socket.write(unit)) setImmediate(send);
    else socket.once('drain', send);
  };
  send();
}
