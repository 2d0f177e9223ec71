import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { UdpAssociation } from '../support/peers/socks-udp.ts';

const DATAGRAM = Buffer.alloc(1200, 9);
/** Milliseconds between two batches of datagrams. */
const BATCH_MS = 5;

/** Datagrams in one direction while they are counted. */
interface CountedRun {
  readonly received: () => number;
  readonly stop: () => void;
}

/** The peer of an association, which counts or sends datagrams of 1200 bytes. */
export class UdpPeer implements Disposable {
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  static async open(): Promise<UdpPeer> {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return new UdpPeer(socket);
  }

  /** Counts what a client sends at twice the rate, in bytes per second. */
  countFrom(association: UdpAssociation, rate: number): CountedRun {
    const { port } = this.#socket.address();
    let received = 0;
    this.#socket.on('message', ({ length }) => (received += length));
    const stop = everyBatch(2 * rate, () => {
      association.send({ host: '127.0.0.1', port }, DATAGRAM);
    });
    return { received: () => received, stop };
  }

  /** Sends at twice the rate to a client, which counts. */
  floodTo(association: UdpAssociation, rate: number): CountedRun {
    const { port } = this.#socket.address();
    let received = 0;
    let isOpen = true;
    association.send({ host: '127.0.0.1', port }, 'begin');
    const count = async (): Promise<void> => {
      while (isOpen) received += (await association.receive()).data.length;
    };
    count().catch(() => undefined);
    let stopSending = (): void => undefined;
    this.#socket.once('message', (_, from) => {
      stopSending = everyBatch(2 * rate, () => {
        this.#socket.send(DATAGRAM, from.port, from.address);
      });
    });
    return {
      received: () => received,
      stop: () => {
        isOpen = false;
        stopSending();
      },
    };
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}

/** Sends datagrams at a rate in bytes per second. */
function everyBatch(rate: number, send: () => void): () => void {
  let owed = 0;
  let at = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    owed += ((now - at) / 1000) * rate;
    at = now;
    for (; owed >= DATAGRAM.length; owed -= DATAGRAM.length) send();
  }, BATCH_MS);
  return () => clearInterval(timer);
}
