import { asError, messageOf } from '@weir/base';
import {
  canonicalHost,
  decodeAddressed,
  type Endpoint,
  ipVersion,
  SOCKS_ADDRESS,
} from '@weir/io/addresses';
import { DialError } from '@weir/io';
import { PacketLayer } from '../outbounds/packet-layer.ts';
import type { ByteLink, Carrier, Packet, WireCounter } from '@weir/io/links';
import { bindToServer, systemSockets, type UdpSocket } from '@weir/io/sockets';
import type { InboundContext, Origin } from '../contract.ts';
import { encodeAddressed, encodeReply, Reply, SOCKS5, SocksRejection } from './wire.ts';

interface RelayQuestion {
  /** The value of the `udp_bind` setting. */
  readonly udpBind: string | undefined;
  /** The client's end of the control connection; `undefined` on a unix socket. */
  readonly remote: Endpoint | undefined;
  /** This side's end of the control connection; `undefined` on a unix socket. */
  readonly local: Endpoint | undefined;
  /** The source of the client's datagrams according to its request. */
  readonly stated: Endpoint;
}

/** The addresses of an association. */
interface RelayPlan {
  /** The address to bind, which is also the one in the reply. */
  readonly bind: string;
  readonly family: 4 | 6;
  /** The only address from which datagrams are accepted. */
  readonly clientHost: string;
  /** The only port from which datagrams are accepted; `undefined` for that of the first datagram. */
  readonly clientPort: number | undefined;
}

/**
 * Determines the address that an association binds and the client that it serves; `undefined` when a relay there could
 * not receive the client's datagrams.
 *
 * Over TCP the address in the request is ignored: a client behind a NAT cannot determine the source of its datagrams,
 * and v2ray sends the destination of its first datagram, which is even plausible on the client's own machine. The
 * client is the host of the control connection. A unix socket has no such address: the request must then state the
 * exact address and port.
 */
export function planRelay({
  udpBind,
  remote,
  local,
  stated,
}: RelayQuestion): RelayPlan | undefined {
  const clientHost = canonicalHost(remote ? remote.host : stated.host);
  const version = ipVersion(clientHost);
  if (version === 0 || isUnspecified(clientHost)) return undefined;
  if (!remote && stated.port === 0) return undefined;
  const bind = udpBind ?? (remote ? local?.host : undefined);
  if (bind === undefined) return undefined;
  const address = canonicalHost(bind);
  const family = ipVersion(address);
  if (family === 0 || !(family === version || address === '::')) return undefined;
  return { bind: address, family, clientHost, clientPort: remote ? undefined : stated.port };
}

const isUnspecified = (host: string): boolean => host === '0.0.0.0' || host === '::';

/** Removes the zone: link-local addresses of sockets name the interface (`fe80::1%eth0`), those in requests do not. */
const withoutZone = (host: string): string => host.replace(/%.*/s, '');

/**
 * Serves one UDP ASSOCIATE (RFC 1928 §6, §7) as long as its control connection is open.
 *
 * @throws {SocksRejection} when the relay socket cannot be bound.
 */
export async function serveAssociation(
  plan: RelayPlan,
  { link }: Carrier,
  origin: Origin,
  { dispatcher }: InboundContext,
): Promise<void> {
  const client = await openRelay(plan);
  origin.session?.attach(client.wire);
  try {
    await link.write(encodeReply(SOCKS5, Reply.succeeded, client.address));
    const control = endOf(link).then((cause) => client.close(cause));
    await dispatcher.packets({ origin, client });
    // An association that the dispatcher has ended closes its control connection as well.
    link.destroy();
    await control;
  } finally {
    client.close();
  }
}

async function openRelay(plan: RelayPlan): Promise<ClientDatagrams> {
  try {
    return await ClientDatagrams.open(plan);
  } catch (error) {
    const message = `UDP relay on ${plan.bind}: ${messageOf(error)}`;
    throw new SocksRejection(encodeReply(SOCKS5, Reply.failure), message, { cause: error });
  }
}

/**
 * Discards data received on the control connection of an association until it ends. Resolves with the error of a
 * failure; never rejects.
 */
async function endOf(control: ByteLink): Promise<Error | undefined> {
  try {
    while ((await control.read()) !== undefined);
    return undefined;
  } catch (error) {
    return asError(error);
  }
}

/**
 * The datagrams of one SOCKS5 client (RFC 1928 §7): receives only those of the client, without
 * their headers, and sends responses to the source of the client's datagrams.
 */
export class ClientDatagrams extends PacketLayer<UdpSocket> {
  readonly #framing: UdpFraming;
  readonly #client: ClientAddress;

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
      association: plan.clientHost,
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
    super(relay);
    this.#framing = framing;
    this.#client = client;
  }

  /** The address to which the client sends its datagrams. */
  get address(): Endpoint {
    const { host, port } = this.lower.local;
    return { host: withoutZone(host), port };
  }

  /** Counts the bytes between the client and the relay socket. */
  get wire(): WireCounter {
    return this.lower;
  }

  override send(packet: Packet): void {
    const peer = this.#client.endpoint;
    const data = peer && this.#framing.encode(packet);
    if (data) this.lower.send({ data, peer });
    else this.lost++;
  }
}

/** The source of a client's datagrams: the first one determines a port that was not stated. */
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

/**
 * Datagrams through the relay of a SOCKS5 server (RFC 1928 §7). The end of the control connection closes the
 * association, and vice versa.
 */
export class ServerDatagrams extends PacketLayer<UdpSocket> {
  readonly #closed: Promise<Error | undefined>;
  readonly #framing: UdpFraming;
  readonly #relay: Endpoint;
  readonly #control: ByteLink;

  /**
   * @param relay the server's address for datagrams: an IP address and a port.
   * @param client the address of the association's client.
   * @throws the system's error when no socket can be bound.
   */
  static async open(relay: Endpoint, control: ByteLink, client?: string): Promise<ServerDatagrams> {
    const framing = new UdpFraming();
    const { udp, server } = await bindToServer(relay, (data) => framing.decode(data), client);
    return new ServerDatagrams(udp, framing, server, control);
  }

  private constructor(udp: UdpSocket, framing: UdpFraming, relay: Endpoint, control: ByteLink) {
    super(udp);
    this.#framing = framing;
    this.#relay = relay;
    this.#control = control;
    this.#closed = Promise.all([udp.closed, control.closed]).then(([cause]) => cause);
    void endOf(control).then((cause) =>
      this.close(new DialError('upstream', 'the SOCKS server ended the association', { cause })),
    );
    void udp.closed.then(() => control.destroy());
  }

  override get closed(): Promise<Error | undefined> {
    return this.#closed;
  }

  override send(packet: Packet): void {
    const data = this.#framing.encode(packet);
    if (data) this.lower.send({ data, peer: this.#relay });
    else this.lost++;
  }

  override close(cause?: Error): void {
    super.close(cause);
    this.#control.destroy();
  }
}

/** Two reserved octets and the fragment number precede the address (RFC 1928 §7). */
const ADDRESS_OFFSET = 3;
const PREFIX: readonly number[] = [0, 0, 0];

/**
 * Adds and removes the header of RFC 1928 §7.
 *
 * Consecutive datagrams of an association mostly have the same peer, so the last header of each
 * direction is cached: a datagram then costs a comparison instead of formatting an address.
 */
export class UdpFraming {
  #readHeader: Uint8Array = new Uint8Array(0);
  #readPeer: Endpoint = { host: '', port: 0 };
  #writtenHeader: Uint8Array = new Uint8Array(0);
  #writtenPeer: Endpoint | undefined;

  /**
   * Decodes a framed datagram; the data is a view. `undefined` for a fragment, which a relay
   * need not reassemble (RFC 1928 §7), and for an invalid datagram.
   */
  decode(bytes: Uint8Array): Packet | undefined {
    // A header determines its own length, so bytes that begin with a known header have that header.
    if (this.#readHeader.length === 0 || !startsWith(bytes, this.#readHeader)) {
      if (bytes.length < ADDRESS_OFFSET || bytes[2] !== 0) return undefined;
      const packet = decodeAddressed(bytes, ADDRESS_OFFSET, SOCKS_ADDRESS);
      if (!packet) return undefined;
      this.#readPeer = packet.peer;
      // A copy: the receiver may overwrite the datagram.
      this.#readHeader = new Uint8Array(bytes.subarray(0, bytes.length - packet.data.length));
    }
    return { data: bytes.subarray(this.#readHeader.length), peer: this.#readPeer };
  }

  /** Encodes a framed datagram; `undefined` when the name of the peer is too long. */
  encode({ data, peer }: Packet): Uint8Array | undefined {
    const last = this.#writtenPeer;
    if (peer !== last && (peer.host !== last?.host || peer.port !== last.port)) {
      const header = encodeAddressed(PREFIX, peer);
      if (!header) return undefined;
      this.#writtenHeader = header;
    }
    this.#writtenPeer = peer;
    const header = this.#writtenHeader;
    const framed = Buffer.allocUnsafe(header.length + data.length);
    framed.set(header);
    framed.set(data, header.length);
    return framed;
  }
}

function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  if (bytes.length < prefix.length) return false;
  for (let index = 0; index < prefix.length; index++) {
    if (bytes[index] !== prefix[index]) return false;
  }
  return true;
}
