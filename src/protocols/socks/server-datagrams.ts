import type { Endpoint } from '../../net/address.ts';
import { DialError } from '../../net/errors.ts';
import type { ByteLink, Packet, PacketLink } from '../../net/link.ts';
import { bindToServer } from '../../net/node/server-socket.ts';
import type { UdpSocket } from '../../net/sockets.ts';
import { endOf } from './control.ts';
import { UdpFraming } from './udp-framing.ts';

/**
 * Datagrams through the relay of a SOCKS5 server (RFC 1928 §7). They need the control connection:
 * when it ends the link does, with a cause, and closing the link ends it.
 */
export class ServerDatagrams implements PacketLink {
  readonly closed: Promise<Error | undefined>;
  readonly #udp: UdpSocket;
  readonly #framing: UdpFraming;
  readonly #relay: Endpoint;
  readonly #control: ByteLink;
  #dropped = 0;

  /**
   * @param relay where the server takes datagrams: an IP address and a port.
   * @throws the system's error when no socket can be bound.
   */
  static async open(relay: Endpoint, control: ByteLink): Promise<ServerDatagrams> {
    const framing = new UdpFraming();
    const { udp, server } = await bindToServer(relay, (data) => framing.decode(data));
    return new ServerDatagrams(udp, framing, server, control);
  }

  private constructor(udp: UdpSocket, framing: UdpFraming, relay: Endpoint, control: ByteLink) {
    this.#udp = udp;
    this.#framing = framing;
    this.#relay = relay;
    this.#control = control;
    this.closed = Promise.all([udp.closed, control.closed]).then(([cause]) => cause);
    void endOf(control).then((cause) =>
      this.close(new DialError('upstream', 'the SOCKS server ended the association', { cause })),
    );
    // A socket that fails by itself takes the association with it.
    void udp.closed.then(() => control.destroy());
  }

  get dropped(): number {
    return this.#dropped + this.#udp.dropped;
  }

  receive(): Promise<Packet | undefined> {
    return this.#udp.receive();
  }

  send(packet: Packet): void {
    const data = this.#framing.encode(packet);
    if (data) this.#udp.send({ data, peer: this.#relay });
    else this.#dropped++;
  }

  close(cause?: Error): void {
    this.#udp.close(cause);
    this.#control.destroy();
  }
}
