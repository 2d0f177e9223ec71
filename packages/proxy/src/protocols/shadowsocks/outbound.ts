import {
  shownHost,
  encodeAddressField,
  SOCKS_ADDRESS,
  ipVersion,
  type Endpoint,
  type FamilyPolicy,
} from '@weir/io/addresses';
import { SystemRandomSource, type RandomSource } from '@weir/base/random';
import { abortedDial, DialError, toDialError } from '@weir/io';
import { PacketLayer } from '../outbounds/packet-layer.ts';
import type { ByteLink, PacketLink, Packet } from '@weir/io/links';
import type { DialOptions, Outbound, OutboundContext } from '../contract.ts';
import { DatagramCodec2022 } from './edition-2022/datagram-codec.ts';
import { RequestStreamSealer, ResponseStreamOpener } from './edition-2022/stream.ts';
import { LegacyDatagramCodec } from './legacy/datagrams.ts';
import { LegacyStreamOpener, LegacyStreamSealer } from './legacy/stream.ts';
import { METHODS, type Method } from './methods.ts';
import type { DatagramCodec } from './packets.ts';
import { SaltPool } from './salts.ts';
import type { ShadowsocksOutboundSettings } from './settings.ts';
import { ShadowsocksLink } from './stream-link.ts';
import {
  bindToServer,
  type SocketObserver,
  type UdpSocket,
  reachableAddress,
} from '@weir/io/sockets';
import { dialledUdp } from '@weir/io/net/own-listeners';

/** An association of an outbound with its server: one socket and one codec. */
export class UpstreamAssociation extends PacketLayer<UdpSocket> {
  readonly #codec: DatagramCodec;
  readonly #server: Endpoint;
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
    super(udp);
    this.#codec = codec;
    this.#server = server;
    void udp.closed.then(() => {
      this.#ended = true;
      codec[Symbol.dispose]();
    });
  }

  override send(packet: Packet): void {
    const data = this.#ended ? undefined : this.#codec.encode(packet);
    if (data) this.lower.send({ data, peer: this.#server });
    else this.lost++;
  }

  override close(cause?: Error): void {
    this.#ended = true;
    super.close(cause);
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

/** A Shadowsocks client of either edition; host names are resolved by the server. */
export class ShadowsocksOutbound implements Outbound {
  readonly suspect = 'a wrong password or method';
  readonly #context: OutboundContext;
  readonly #random: RandomSource;
  readonly #method: Method;
  readonly #keys: readonly Uint8Array[];
  readonly #salts: SaltPool;
  /** The server's address of the last connection. */
  #reached: string | undefined;

  constructor(
    { method, keys }: ShadowsocksOutboundSettings,
    context: OutboundContext,
    random: RandomSource = new SystemRandomSource(),
  ) {
    this.#context = context;
    this.#random = random;
    this.#method = METHODS[method];
    this.#keys = keys.map((key) => Buffer.from(key, 'base64'));
    this.#salts = new SaltPool(context.clock);
  }

  async connect(destination: Endpoint, options: DialOptions): Promise<ByteLink> {
    const address = encodeAddressField(destination, SOCKS_ADDRESS);
    if (!address) {
      throw new DialError('failed', 'the host name does not fit into a Shadowsocks request');
    }
    const { link, remote } = await this.#context.dial(options);
    if (remote) this.#reached = remote.host;
    return this.#stream(link, address);
  }

  async associate({ signal, origin, reach }: DialOptions): Promise<PacketLink> {
    const { resolver, family, server, ownListeners } = this.#context;
    if (!server) throw new RangeError('a Shadowsocks outbound has a server');
    if (signal.aborted) throw abortedDial(signal, server);
    reach?.trying();
    const host =
      ipVersion(server.host) === 0
        ? await serverAddress(
            await resolver.resolve(server.host, family, signal),
            family,
            this.#reached,
          )
        : server.host;
    if (host === undefined)
      throw new DialError('not_found', `${shownHost(server.host)}: no address`);
    const address = { host, port: server.port };
    const onSocket = origin && ownListeners.check(address, origin, false, 'udp');
    const codec = this.#datagramCodec();
    try {
      const association = await UpstreamAssociation.open(address, codec, origin?.source, onSocket);
      reach?.reached();
      return association;
    } catch (error) {
      codec[Symbol.dispose]();
      throw toDialError(error, address);
    }
  }

  close(): void {
    // Flows share nothing that has to be released.
  }

  #datagramCodec(): DatagramCodec {
    const { clock } = this.#context;
    const deps = { method: this.#method, clock, random: this.#random };
    return this.#method.edition === 'legacy'
      ? new LegacyDatagramCodec(this.#method, this.#ownKey, this.#random)
      : new DatagramCodec2022(deps, this.#keys);
  }

  /** The user's own key: the last of a chain, which is never empty. */
  get #ownKey(): Uint8Array {
    return this.#keys.at(-1) ?? new Uint8Array(0);
  }

  #stream(link: ByteLink, address: Uint8Array): ByteLink {
    const { clock } = this.#context;
    const key = this.#ownKey;
    if (this.#method.edition === 'legacy') {
      const salt = this.#random.bytes(this.#method.keyLength);
      const sealer = new LegacyStreamSealer(this.#method, key, salt, address);
      return new ShadowsocksLink(link, sealer, new LegacyStreamOpener(this.#method, key), clock);
    }
    const deps = { method: this.#method, clock, random: this.#random };
    const sealer = new RequestStreamSealer(deps, this.#keys, address);
    const opener = new ResponseStreamOpener(deps, key, sealer.salt, this.#salts);
    return new ShadowsocksLink(link, sealer, opener, clock);
  }
}
