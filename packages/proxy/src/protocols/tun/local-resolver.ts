import { messageOf } from '@weir/base';
import {
  type Cidr,
  addressInNetwork,
  isIPv4Endpoint,
  toEndpoint,
  type IpEndpoint,
} from '@weir/base/ip';
import { formatEndpoint, ipVersion, type Endpoint } from '@weir/io/addresses';
import { LinkClosedError } from '@weir/io';
import { type ByteLink, type Packet, type PacketLink, ClosablePackets } from '@weir/io/links';
import type { AcceptedConnection, Sockets } from '@weir/io/sockets';

const DNS_PORT = 53;

/**
 * The addresses at which programs reach the proxy's own resolver through a device: the device's own, and all others of
 * its subnets. The kernel itself delivers a local program's packets to the device's own address: `LocalResolver`
 * receives those.
 */
export class ResolverAddresses {
  readonly #networks: readonly Cidr[];

  /** @param addresses the device's addresses, each with the length of its prefix. */
  constructor(addresses: readonly Cidr[]) {
    this.#networks = addresses;
  }

  has({ host, port }: Endpoint): boolean {
    return port === DNS_PORT && this.#networks.some((network) => addressInNetwork(host, network));
  }
}

/** The longest prefix with a broadcast address (RFC 3021). */
const LONGEST_BROADCAST_PREFIX = 30;

/** Returns the directed broadcast addresses of these networks (RFC 922 §7); IPv6 has none. */
export function broadcastAddresses(networks: readonly Cidr[]): IpEndpoint[] {
  return networks.flatMap(({ address, prefix }) => {
    const host = toEndpoint(address, 0);
    if (host === undefined || !isIPv4Endpoint(host)) return [];
    if (prefix > LONGEST_BROADCAST_PREFIX) return [];
    return [{ ...host, d: host.d | (-1 >>> prefix) }];
  });
}

/**
 * Programs of this host, by address and port, whose datagrams to the DNS service at a device's own address are served
 * concurrently, about 2 KB each. At the limit the least recently used one is dropped; its program repeats the query.
 */
export const MOST_LOCAL_CLIENTS = 512;

/**
 * TCP connections of programs of this host to the DNS service at a device's own address. At the limit the oldest one is
 * closed.
 */
export const MOST_LOCAL_CONNECTIONS = 128;

/** Serves the clients of the sockets in the same way as those whose packets the device delivers. */
export interface LocalClients {
  /** Returns whether datagrams or connections are accepted now; otherwise they are dropped. */
  readonly takes: (network: 'tcp' | 'udp') => boolean;
  /** Serves a TCP connection. Never rejects. */
  readonly onConnection: (source: Endpoint, local: Endpoint, link: ByteLink) => Promise<void>;
  /** Serves an association. Never rejects. */
  readonly onAssociation: (source: Endpoint, link: PacketLink) => Promise<void>;
  /** Called when the service could not be bound at an address. @param reason the reason as text. */
  readonly onUnbound: (where: string, reason: string) => void;
}

/**
 * The DNS service at a device's own addresses, for programs of this host: Linux delivers their
 * packets over the loopback interface, not through the device.
 */
export class LocalResolver {
  readonly #clients: LocalClients;
  /** Sockets and their clients, to be closed with the service. */
  readonly #open = new Set<{ close(): void }>();
  readonly #connections = new Set<ByteLink>();
  readonly #served = Promise.withResolvers<void>();
  #isServing = false;
  #isClosed = false;

  constructor(clients: LocalClients) {
    this.#clients = clients;
  }

  /**
   * Binds port 53 of each address, over UDP and TCP. Failures are reported to `onUnbound`.
   *
   * Programs may ask as soon as the device is there: until `serve` their datagrams and connections wait. A dropped
   * query would be repeated after 5 s only.
   */
  async bind(
    sockets: Pick<Sockets, 'listen' | 'bindUdp'>,
    addresses: readonly Cidr[],
  ): Promise<void> {
    for (const { address } of addresses) {
      const where = { host: address, port: DNS_PORT };
      try {
        await this.#bindUdp(sockets, where);
        await this.#listen(sockets, where);
      } catch (error) {
        this.#clients.onUnbound(formatEndpoint(where), messageOf(error));
      }
    }
  }

  /** Begins to serve the clients, first those that wait. */
  serve(): void {
    this.#isServing = true;
    this.#served.resolve();
  }

  /** Closes the sockets and all connections. Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#served.resolve();
    for (const each of this.#open) each.close();
    this.#open.clear();
    for (const link of this.#connections) link.destroy(new LinkClosedError('the device is closed'));
  }

  async #bindUdp(sockets: Pick<Sockets, 'bindUdp'>, local: Endpoint): Promise<void> {
    const family = ipVersion(local.host) === 6 ? 6 : 4;
    const socket = await sockets.bindUdp({ family, address: local.host, port: local.port });
    if (this.#isClosed) {
      socket.close();
      return;
    }
    const programs = new Map<string, ProgramDatagrams>();
    this.#open.add({
      close: () => {
        for (const program of programs.values()) program.close();
        socket.close();
      },
    });
    const take = ({ data, peer }: Packet): void => {
      if (!this.#clients.takes('udp')) return;
      const key = formatEndpoint(peer);
      let program = programs.get(key);
      programs.delete(key);
      if (!program) {
        makeRoom(programs);
        program = new ProgramDatagrams(peer, socket, () => {
          if (programs.get(key) === program) programs.delete(key);
        });
        void this.#clients.onAssociation(peer, program);
      }
      if (program.isOpen) programs.set(key, program); // last in the order of use
      program.push({ data, peer: local });
    };
    // An error of the socket ends the reading, as a close does.
    void this.#served.promise.then(() => socket.receiveAll(take)).catch(() => undefined);
  }

  async #listen(sockets: Pick<Sockets, 'listen'>, local: Endpoint): Promise<void> {
    const listener = await sockets.listen(local, {
      onConnection: (connection) => void this.#onConnection(connection, local),
    });
    if (this.#isClosed) listener.close();
    else this.#open.add(listener);
  }

  async #onConnection(connection: AcceptedConnection, local: Endpoint): Promise<void> {
    const { remote } = connection;
    if (!remote || this.#isClosed) {
      connection.destroy();
      return;
    }
    for (const oldest of this.#connections) {
      if (this.#connections.size < MOST_LOCAL_CONNECTIONS) break;
      this.#connections.delete(oldest);
      oldest.destroy(new LinkClosedError('too many connections'));
    }
    const link = connection.link();
    this.#connections.add(link);
    if (!this.#isServing) await this.#served.promise;
    const isWaiting = this.#connections.has(link); // it has not given way
    if (isWaiting && this.#clients.takes('tcp')) {
      await this.#clients.onConnection(remote, local, link);
    } else link.destroy(new LinkClosedError('the device takes no connections'));
    this.#connections.delete(link);
  }
}

function makeRoom(programs: Map<string, ProgramDatagrams>): void {
  for (const oldest of programs.values()) {
    if (programs.size < MOST_LOCAL_CLIENTS) return;
    oldest.close();
  }
}

/** The datagrams of one program, which its address and port identify. */
class ProgramDatagrams extends ClosablePackets implements PacketLink {
  readonly #client: Endpoint;
  readonly #socket: Pick<PacketLink, 'send'>;
  readonly #onClose: () => void;
  #isOpen = true;

  constructor(client: Endpoint, socket: Pick<PacketLink, 'send'>, onClose: () => void) {
    super();
    this.#client = client;
    this.#socket = socket;
    this.#onClose = onClose;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  push(packet: Packet): void {
    this.queue.push(packet);
  }

  send({ data }: Packet): void {
    if (this.#isOpen) this.#socket.send({ data, peer: this.#client });
  }

  close(cause?: Error): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.queue.end(cause);
    this.#onClose();
    this.resolveClosed(cause);
  }
}
