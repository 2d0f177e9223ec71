import type { Endpoint } from '../../net/address.ts';
import type { Packet, PacketLink, WireCounter } from '../../net/link.ts';
import { systemSockets } from '../../net/system-sockets.ts';
import type { UdpSocket } from '../../net/sockets.ts';
import { withoutZone, type RelayPlan } from './relay-plan.ts';
import { UdpFraming } from './udp-framing.ts';

/**
 * The datagrams of one SOCKS5 client (RFC 1928 §7): takes those of the client alone, off their
 * headers, and sends answers to where the client's come from.
 */
export class ClientDatagrams implements PacketLink {
  readonly #relay: UdpSocket;
  readonly #framing: UdpFraming;
  readonly #client: ClientAddress;
  #dropped = 0;

  /**
   * Binds the relay socket.
   * @throws the system's error when it cannot be bound.
   */
  static async open(plan: RelayPlan): Promise<ClientDatagrams> {
    const framing = new UdpFraming();
    const client = new ClientAddress(plan);
    const relay = await systemSockets().bindUdp({
      family: plan.family,
      address: plan.bind,
      respondsFromOwn: true,
      incoming: (data, host, port) => {
        if (!client.mayBe(host, port)) return undefined;
        const packet = framing.decode(data);
        if (packet) client.settle(port);
        return packet;
      },
    });
    return new ClientDatagrams(relay, framing, client);
  }

  private constructor(relay: UdpSocket, framing: UdpFraming, client: ClientAddress) {
    this.#relay = relay;
    this.#framing = framing;
    this.#client = client;
  }

  /** Where the client is to send its datagrams. */
  get address(): Endpoint {
    const { host, port } = this.#relay.local;
    return { host: withoutZone(host), port };
  }

  /** The bytes between the client and the relay socket. */
  get wire(): WireCounter {
    return this.#relay;
  }

  get dropped(): number {
    return this.#dropped + this.#relay.dropped;
  }

  get closed(): Promise<Error | undefined> {
    return this.#relay.closed;
  }

  receive(): Promise<Packet | undefined> {
    return this.#relay.receive();
  }

  send(packet: Packet): void {
    const peer = this.#client.endpoint;
    const data = peer && this.#framing.encode(packet);
    if (data) this.#relay.send({ data, peer });
    else this.#dropped++;
  }

  close(cause?: Error): void {
    this.#relay.close(cause);
  }
}

/** Where a client's datagrams come from: its first one settles a port that was not stated. */
class ClientAddress {
  readonly #host: string;
  #endpoint: Endpoint | undefined;

  constructor({ clientHost: host, clientPort: port }: RelayPlan) {
    this.#host = host;
    this.#endpoint = port === undefined ? undefined : { host, port };
  }

  get endpoint(): Endpoint | undefined {
    return this.#endpoint;
  }

  mayBe(host: string, port: number): boolean {
    return host === this.#host && (this.#endpoint === undefined || this.#endpoint.port === port);
  }

  settle(port: number): void {
    this.#endpoint ??= { host: this.#host, port };
  }
}
