import { ipVersion, type Endpoint, type FamilyPolicy, type Resolver } from '@weir/io/addresses';
import { KeptDatagrams } from '@weir/io/bounds';
import { DialError, toDialError } from '@weir/io';
import { turnToResume } from '@weir/io/time';
import { PacketLayer } from './packet-layer.ts';
import type { Packet, PacketLink } from '@weir/io/links';
import { reachableAddress, type HasRoute } from '@weir/io/sockets';

/** Names whose address one association remembers; beyond this number the oldest is forgotten. */
const MAX_NAMES = 256;
/** Names that one association resolves at a time; datagrams to further ones are dropped. */
const MAX_RESOLVING = 32;
/** Datagrams kept for one name while it is resolved. */
const MAX_WAITING = 16;

export interface ResolvedPacketsOptions {
  readonly resolver: Resolver;
  readonly family: FamilyPolicy;
  /** The address of the client. */
  readonly client?: string | undefined;
  /** Returns whether the socket has a route to an address, where the routes of the host do not decide that. */
  readonly hasRoute?: HasRoute | undefined;
  /** Returns whether a datagram may be sent to a peer, which is an IP address; otherwise it is dropped. */
  readonly allows: (peer: Endpoint) => boolean;
  /** Called when a name was not resolved: its datagrams are lost, like those to an unreachable peer. */
  readonly onUnresolved: (error: DialError) => void;
}

/** The address of a name, or the datagrams that wait for it. */
type Known = { readonly address: string } | { readonly waiting: Packet[] };

/** Resolves the names of peers for an association that sends to IP addresses only. */
export class ResolvedPackets extends PacketLayer {
  readonly #options: ResolvedPacketsOptions;
  readonly #names = new Map<string, Known>();
  /** Memory shared by the datagrams that wait for any name. */
  readonly #room = new KeptDatagrams();
  readonly #closing = new AbortController();
  #resolving = 0;

  /** @param socket sends to IP addresses; owned by this association from now on. */
  constructor(socket: PacketLink, options: ResolvedPacketsOptions) {
    super(socket);
    this.#options = options;
  }

  /** Sets the listener for unreachable peers; reports addresses, also for peers that were given by name. */
  set onUnreachable(report: PacketLink['onUnreachable']) {
    this.lower.onUnreachable = report;
  }

  override send(packet: Packet): void {
    const { host } = packet.peer;
    if (ipVersion(host) === 0) this.#sendToName(host, packet);
    else this.#sendToAddress(packet);
  }

  override close(cause?: Error): void {
    this.#closing.abort(new DialError('aborted', 'the association has ended'));
    this.#names.clear();
    super.close(cause);
  }

  #sendToAddress(packet: Packet): void {
    if (this.#options.allows(packet.peer)) this.lower.send(packet);
    else this.lost++;
  }

  #sendToName(name: string, packet: Packet): void {
    if (this.#closing.signal.aborted) return;
    const known = this.#names.get(name);
    if (known === undefined) {
      const kept = this.#resolving < MAX_RESOLVING ? this.#room.keep(packet) : undefined;
      if (!kept) {
        this.lost++;
        return;
      }
      const waiting = [kept];
      this.#remember(name, { waiting });
      void this.#resolve(name, packet.peer, waiting);
    } else if ('address' in known) {
      const peer = { host: known.address, port: packet.peer.port };
      this.#sendToAddress({ data: packet.data, peer });
    } else {
      const kept = known.waiting.length < MAX_WAITING ? this.#room.keep(packet) : undefined;
      if (kept) known.waiting.push(kept);
      else this.lost++;
    }
  }

  #remember(name: string, known: Known): void {
    if (this.#names.size >= MAX_NAMES) {
      const [oldest] = this.#names.keys();
      if (oldest !== undefined) this.#names.delete(oldest);
    }
    this.#names.set(name, known);
  }

  /** Resolves a name once for the lifetime of the association: responses must come from the same peer. */
  async #resolve(name: string, peer: Endpoint, waiting: readonly Packet[]): Promise<void> {
    const { resolver, family, client, hasRoute } = this.#options;
    let address: string | undefined;
    this.#resolving++;
    try {
      // A client may send to thousands of names at once.
      const turn = turnToResume();
      if (turn) await turn;
      const addresses = await resolver.resolve(name, family, this.#closing.signal, client);
      address = await reachableAddress(addresses, family, hasRoute);
    } catch (error) {
      const failure = toDialError(error, peer);
      if (failure.code !== 'aborted') this.#options.onUnresolved(failure);
    } finally {
      this.#resolving--;
      this.#room.release(waiting);
    }
    // The name may have been forgotten meanwhile.
    const known = this.#names.get(name);
    const isCurrent = known !== undefined && 'waiting' in known && known.waiting === waiting;
    if (isCurrent && address !== undefined) {
      this.#names.set(name, { address });
      for (const packet of waiting) this.send(packet);
      return;
    }
    if (isCurrent) this.#names.delete(name);
    this.lost += waiting.length;
  }
}
