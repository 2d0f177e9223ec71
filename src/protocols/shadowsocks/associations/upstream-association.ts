import { ipVersion, type Endpoint } from '../../../net/addresses/address.ts';
import type { Packet, PacketLink } from '../../../net/links/link.ts';
import { bindToServer } from '../../../net/sockets/server-socket.ts';
import { dialledUdp } from '../../../net/own-listeners.ts';
import type { SocketObserver, UdpSocket } from '../../../net/sockets/sockets.ts';
import type { FamilyPolicy } from '../../../net/addresses/resolver.ts';
import { reachableAddress } from '../../../net/sockets/reachable-address.ts';
import type { DatagramCodec } from '../packets.ts';

/** An association of an outbound with its server: one socket and one codec. */
export class UpstreamAssociation implements PacketLink {
  readonly #udp: UdpSocket;
  readonly #codec: DatagramCodec;
  readonly #server: Endpoint;
  #dropped = 0;
  #ended = false;

  /**
   * @param server an IP address and a port.
   * @param codec disposed of with the association.
   * @param client the address of the association's client.
   * @param onSocket called with the association's socket.
   * @throws the system's error when no socket can be bound; the caller then disposes of the codec.
   */
  static async open(
    server: Endpoint,
    codec: DatagramCodec,
    client?: string,
    onSocket?: SocketObserver,
  ): Promise<UpstreamAssociation> {
    const bound = await bindToServer(server, (data) => codec.decode(data), client);
    onSocket?.(dialledUdp(bound.udp));
    return new UpstreamAssociation(bound.udp, codec, bound.server);
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

  receiveAll(take: (packet: Packet) => void): Promise<void> {
    return this.#udp.receiveAll(take);
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

/**
 * Returns the address of a server to which datagrams are sent; `undefined` without addresses.
 *
 * A loss of datagrams is not reported, but connections to all addresses have raced: the address of the last connection
 * works, or at least its family if the name has other addresses by now.
 *
 * @param addresses the addresses of the server, in the order of the resolver.
 * @param reached the address of the last connection; `undefined` without one.
 */
export async function serverAddress(
  addresses: readonly string[],
  family: FamilyPolicy,
  reached: string | undefined,
): Promise<string | undefined> {
  const known =
    reached === undefined
      ? undefined
      : (addresses.find((address) => address === reached) ??
        addresses.find((address) => ipVersion(address) === ipVersion(reached)));
  return known ?? reachableAddress(addresses, family);
}
