import { codeOf } from '../../errors.ts';
import { ipVersion, type Endpoint } from '../../net/address.ts';
import { DialError, toDialError } from '../../net/errors.ts';
import type { Packet, PacketLink } from '../../net/link.ts';
import { preferredAddress, type FamilyPolicy, type Resolver } from '../../net/resolver.ts';
import { systemSockets } from '../../net/system-sockets.ts';
import type { OwnPeers } from '../../net/own-peers.ts';
import type { UdpSocket } from '../../net/sockets.ts';

/** Names whose address one association remembers; beyond it the oldest is resolved again. */
const MAX_NAMES = 256;
/** Datagrams kept for one name while it is resolved. */
const MAX_WAITING = 16;

export interface FreedomPacketsOptions {
  readonly resolver: Resolver;
  readonly family: FamilyPolicy;
  /** The address of the client. */
  readonly client?: string | undefined;
  /** Makes what decides to which addresses the client may send; all when left out. */
  readonly peersOf?: ((socket: UdpSocket) => OwnPeers) | undefined;
  /** Called when a name did not resolve: its datagrams are lost, as to an unreachable peer. */
  readonly onUnresolved: (error: DialError) => void;
}

/**
 * Opens one socket for all peers of an association, of both families: full-cone, since every peer
 * receives from the same port and may respond to it.
 *
 * @throws {DialError} when the socket cannot be bound.
 */
export async function openFreedomPackets(options: FreedomPacketsOptions): Promise<PacketLink> {
  return new FreedomPackets(await bindSocket(options.family), options);
}

async function bindSocket(family: FamilyPolicy): Promise<UdpSocket> {
  try {
    if (family === 'ipv4_only') return await systemSockets().bindUdp({ family: 4 });
    try {
      return await systemSockets().bindUdp({ family: 6 });
    } catch (error) {
      const code = codeOf(error);
      const withoutIPv6 = code === 'EAFNOSUPPORT' || code === 'EADDRNOTAVAIL' || code === 'EINVAL';
      if (!withoutIPv6 || family === 'ipv6_only') throw error;
      return await systemSockets().bindUdp({ family: 4 });
    }
  } catch (error) {
    throw toDialError(error, { host: '::', port: 0 });
  }
}

/** The address of a name, or the datagrams that wait for it. */
type Known = { readonly address: string } | { readonly waiting: Packet[] };

class FreedomPackets implements PacketLink {
  readonly #socket: UdpSocket;
  readonly #peers: OwnPeers | undefined;
  readonly #options: FreedomPacketsOptions;
  readonly #names = new Map<string, Known>();
  readonly #closing = new AbortController();
  #lost = 0;

  constructor(socket: UdpSocket, options: FreedomPacketsOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#peers = options.peersOf?.(socket);
  }

  get closed(): Promise<Error | undefined> {
    return this.#socket.closed;
  }

  get dropped(): number {
    return this.#lost + this.#socket.dropped;
  }

  receive(): Promise<Packet | undefined> {
    return this.#socket.receive();
  }

  receiveAll(take: (packet: Packet) => void): Promise<void> {
    return this.#socket.receiveAll(take);
  }

  send(packet: Packet): void {
    const { host } = packet.peer;
    switch (ipVersion(host)) {
      case 4:
        this.#sendIf(this.#options.family !== 'ipv6_only', packet);
        break;
      case 6:
        this.#sendIf(this.#options.family !== 'ipv4_only', packet);
        break;
      case 0:
        this.#sendToName(host, packet);
    }
  }

  close(cause?: Error): void {
    this.#closing.abort(new DialError('aborted', 'the association has ended'));
    this.#names.clear();
    this.#socket.close(cause);
  }

  #sendIf(allowed: boolean, packet: Packet): void {
    if (allowed && this.#peers?.allows(packet.peer) !== false) this.#socket.send(packet);
    else this.#lost++;
  }

  #sendToName(name: string, packet: Packet): void {
    if (this.#closing.signal.aborted) return;
    const known = this.#names.get(name);
    if (known === undefined) {
      this.#remember(name, { waiting: [packet] });
      void this.#resolve(name, packet.peer);
    } else if ('address' in known) {
      const peer = { host: known.address, port: packet.peer.port };
      this.#sendIf(true, { data: packet.data, peer });
    } else if (known.waiting.length < MAX_WAITING) {
      known.waiting.push(packet);
    } else {
      this.#lost++;
    }
  }

  #remember(name: string, known: Known): void {
    if (this.#names.size >= MAX_NAMES) {
      const [oldest] = this.#names.keys();
      if (oldest !== undefined) this.#names.delete(oldest);
    }
    this.#names.set(name, known);
  }

  /** One address for the lifetime of the association: responses must come from the same peer. */
  async #resolve(name: string, peer: Endpoint): Promise<void> {
    const { resolver, family, client } = this.#options;
    try {
      const addresses = await resolver.resolve(name, family, this.#closing.signal, client);
      const known = this.#names.get(name);
      const address = preferredAddress(addresses, family);
      if (known === undefined || !('waiting' in known) || address === undefined) return;
      this.#names.set(name, { address });
      for (const packet of known.waiting) this.send(packet);
    } catch (error) {
      const known = this.#names.get(name);
      this.#lost += known && 'waiting' in known ? known.waiting.length : 0;
      this.#names.delete(name);
      const failure = toDialError(error, peer);
      if (failure.code !== 'aborted') this.#options.onUnresolved(failure);
    }
  }
}
