import type { Endpoint } from '../../net/address.ts';
import type { Packet, PacketLink } from '../../net/link.ts';
import { bindToServer } from '../../net/node/server-socket.ts';
import type { UdpSocket } from '../../net/sockets.ts';
import type { DatagramCodec } from './datagram-codec.ts';

/** Datagrams through a Shadowsocks server: one socket and one codec for each association. */
export class ServerDatagrams implements PacketLink {
  readonly #udp: UdpSocket;
  readonly #codec: DatagramCodec;
  readonly #server: Endpoint;
  #dropped = 0;
  #ended = false;

  /**
   * @param server an IP address and a port.
   * @throws the system's error when no socket can be bound.
   */
  static async open(server: Endpoint, codec: DatagramCodec): Promise<ServerDatagrams> {
    const bound = await bindToServer(server, (data) => codec.decode(data));
    return new ServerDatagrams(bound.udp, codec, bound.server);
  }

  private constructor(udp: UdpSocket, codec: DatagramCodec, server: Endpoint) {
    this.#udp = udp;
    this.#codec = codec;
    this.#server = server;
    void udp.closed.then(() => {
      this.#ended = true;
      codec[Symbol.dispose]();
    });
  }

  get dropped(): number {
    return this.#dropped + this.#udp.dropped;
  }

  get closed(): Promise<Error | undefined> {
    return this.#udp.closed;
  }

  receive(): Promise<Packet | undefined> {
    return this.#udp.receive();
  }

  send(packet: Packet): void {
    const data = this.#ended ? undefined : this.#codec.encode(packet);
    if (data) this.#udp.send({ data, peer: this.#server });
    else this.#dropped++;
  }

  close(cause?: Error): void {
    this.#ended = true;
    this.#udp.close(cause);
  }
}
