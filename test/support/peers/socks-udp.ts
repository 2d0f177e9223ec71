import { createSocket, type Socket as Datagrams } from 'node:dgram';
import { once } from 'node:events';
import { isIP, type Socket } from 'node:net';
import { open, type Address } from '../data/address.ts';
import {
  COMMAND,
  decodeAddress,
  encodeAddress,
  greet5,
  request5,
  type SocksOptions,
  type Target,
} from './socks-client.ts';
import { within } from '../wait.ts';

export interface Received {
  readonly from: Target;
  readonly data: Buffer;
}

export interface AssociateOptions extends SocksOptions {
  /** State the source of the datagrams in the request, which a unix socket inbound demands. */
  readonly stateSource?: boolean;
}

/** A SOCKS5 UDP association (RFC 1928 §7) as a client sees it. */
export class UdpAssociation implements Disposable {
  /** Its end is the end of the association. */
  readonly control: Socket;
  /** The address for datagrams in the proxy's reply. */
  readonly relay: Target;
  readonly #datagrams: Datagrams;
  readonly #queue: Received[] = [];
  #waiting: ((received: Received) => void) | undefined;

  private constructor(control: Socket, relay: Target, datagrams: Datagrams) {
    this.control = control;
    this.relay = relay;
    this.#datagrams = datagrams;
    datagrams.on('message', (message) => {
      const from = decodeAddress(message.subarray(3));
      const received = { from, data: message.subarray(3 + from.length) };
      if (this.#waiting) this.#waiting(received);
      else this.#queue.push(received);
      this.#waiting = undefined;
    });
  }

  /** @throws {SocksRefused} with the reply code of a refusal. */
  static async open(proxy: Address, options: AssociateOptions = {}): Promise<UdpAssociation> {
    const { localAddress, stateSource = false } = options;
    const control = await open(proxy, localAddress === undefined ? {} : { localAddress });
    const source = localAddress ?? (control.remoteFamily === 'IPv6' ? '::1' : '127.0.0.1');
    const datagrams = createSocket(isIP(source) === 6 ? 'udp6' : 'udp4');
    try {
      datagrams.bind(0, source);
      await once(datagrams, 'listening');
      await greet5(control, options);
      const none = isIP(source) === 6 ? '::' : '0.0.0.0';
      const stated = stateSource
        ? { host: source, port: datagrams.address().port }
        : { host: none, port: 0 };
      const relay = await request5(control, COMMAND.associate, stated);
      return new UdpAssociation(control, relay, datagrams);
    } catch (error) {
      control.destroy();
      datagrams.close();
      throw error;
    }
  }

  send(to: Target, data: Uint8Array | string): void {
    const head = Buffer.concat([Buffer.from([0, 0, 0]), encodeAddress(to)]);
    this.sendRaw(Buffer.concat([head, Buffer.from(data)]));
  }

  /** A datagram to the relay as it is. */
  sendRaw(datagram: Uint8Array): void {
    this.#datagrams.send(datagram, this.relay.port, this.relay.host);
  }

  receive(patience?: number): Promise<Received> {
    const next = this.#queue.shift();
    if (next) return Promise.resolve(next);
    const { promise, resolve } = Promise.withResolvers<Received>();
    this.#waiting = resolve;
    return within(promise, 'a datagram through the association', patience);
  }

  /** What came and was not asked for yet. */
  get pending(): number {
    return this.#queue.length;
  }

  [Symbol.dispose](): void {
    this.control.destroy();
    this.#datagrams.close();
  }
}
