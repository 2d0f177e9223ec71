import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { portOf, type Address } from '../data/address.ts';

/** Node's default would lose bursts of a server that nothing slows down. */
const BUFFER = 4 << 20;

/**
 * What a NAT is to one UDP client: its datagrams reach the server from an address of the relay's
 * choice, which may change under the client.
 */
export class UdpRelay implements AsyncDisposable {
  /** Where the client sends to. */
  readonly address: Address;
  readonly #inner: Socket;
  readonly #server: number;
  #outer: Socket;
  #client: { readonly port: number; readonly address: string } | undefined;
  /** Called when the client has sent a datagram. */
  #onSent: () => void = () => undefined;

  private constructor(inner: Socket, outer: Socket, server: number) {
    this.#inner = inner;
    this.#outer = outer;
    this.#server = server;
    this.address = { host: '127.0.0.1', port: inner.address().port };
    inner.on('message', (message, from) => {
      this.#client = from;
      this.#outer.send(message, this.#server, '127.0.0.1');
      this.#onSent();
    });
    this.#receive(outer);
  }

  static async start(server: Address): Promise<UdpRelay> {
    return new UdpRelay(await bound('127.0.0.1'), await bound('127.0.0.1'), portOf(server));
  }

  /**
   * With its next datagram the client has the address `host` and a new port; the old one is closed then,
   * and not before: a client that only receives would have nothing to send that shows the server its
   * new address.
   */
  async move(host: string): Promise<void> {
    const old = this.#outer;
    const next = await bound(host);
    this.#receive(next);
    this.#outer = next;
    const sent = Promise.withResolvers<void>();
    this.#onSent = sent.resolve;
    await sent.promise;
    await closed(old);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([closed(this.#inner), closed(this.#outer)]);
  }

  #receive(outer: Socket): void {
    outer.on('message', (message) => {
      if (this.#client) this.#inner.send(message, this.#client.port, this.#client.address);
    });
  }
}

async function bound(host: string): Promise<Socket> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: BUFFER, sendBufferSize: BUFFER });
  // A datagram to a closed port comes back as an error, which costs that datagram.
  socket.on('error', () => undefined);
  socket.bind(0, host);
  await once(socket, 'listening');
  return socket;
}

async function closed(socket: Socket): Promise<void> {
  socket.close();
  await once(socket, 'close');
}
