import type { RandomSource } from '@weir/base/random';
import {
  blankEndpoint,
  isIPv4Endpoint,
  type IpEndpoint,
  type MutableIpEndpoint,
} from '@weir/base/ip';
import { AssociationOrder, Stage } from '@weir/io/bounds';
import { RateLimit } from '@weir/io/pace';
import type { FlowQueues } from './flow-queues.ts';
import { RequestKind } from './request-kind.ts';
import { addressNumber } from '../ip/address-hash.ts';
import type { DropReason, Drops } from '../trace.ts';
import { FlowTable } from './flow-table.ts';
import { ipHeaderSize, largestTransport, type IpOutput } from '../ip/ip-output.ts';
import {
  MAX_BRIEF_ASSOCIATIONS,
  MAX_BRIEF_OF_CLIENT,
  REPLACED_A_SECOND,
  REPLACED_QUERIES_A_SECOND,
} from '../limits.ts';
import { chooseLocalPort } from './local-ports.ts';
import {
  UdpBatch,
  readUdpDatagram,
  UDP_CHECKSUM_OFFSET,
  UDP_HEADER_SIZE,
  UdpDatagram,
  writeUdpHeader,
} from '../wire/udp.ts';
import { UdpFlow, type QueuedDatagrams } from './udp-flow.ts';
import { copyOf } from '@weir/base/bytes';
import { IpProtocol, type IpPacket } from '../wire/ip-packet.ts';

/** Dependencies of all associations of a stack. */
interface UdpFlowsOptions {
  readonly random: RandomSource;
  readonly output: IpOutput;
  readonly queues: FlowQueues;
  readonly drops: Drops;
  /** Whether a datagram of a new client creates an association; otherwise associations have own ports. */
  readonly listens: boolean;
  /** Returns the own address of the destination's family; `undefined` if there is none. */
  readonly sourceFor: (remote: IpEndpoint) => IpEndpoint | undefined;
  /** Returns whether there is room for another association. */
  readonly hasRoom: () => boolean;
  /** Returns whether there is room only once another flow ends. */
  readonly isFull: () => boolean;
  /** Returns the milliseconds without datagrams after which the association of a client ends. */
  readonly idle: () => number;
  /** Returns the size in bytes of the largest packet to an address. */
  readonly pathMtu: (remote: IpEndpoint, now: number) => number;
}

/** The wildcard end of every association: any address, any port. */
const ANY: IpEndpoint = blankEndpoint();

const DNS_PORT = 53;

/** The result of receiving a datagram. */
type UdpOutcome = 'taken' | 'dropped' | 'no socket';

/** The UDP associations of a stack. */
export class UdpFlows {
  readonly #options: UdpFlowsOptions;
  readonly #flows: FlowTable<UdpFlow>;
  /** The order of eviction; by the client's address, for own ports by the client that they were opened for. */
  readonly #order = new AssociationOrder<UdpFlow, number | string>();
  readonly #replaced = new RateLimit(REPLACED_A_SECOND);
  readonly #replacedByQueries = new RateLimit(REPLACED_QUERIES_A_SECOND);
  readonly #queued: QueuedDatagrams = { bytes: 0 };
  #isCrowded = false;
  readonly #datagram = new UdpDatagram();
  readonly #batch = new UdpBatch();
  readonly #key = blankEndpoint();
  readonly #from = blankEndpoint();

  constructor(options: UdpFlowsOptions) {
    this.#options = options;
    this.#flows = new FlowTable(options.random);
  }

  get size(): number {
    return this.#flows.size;
  }

  /** Memory in bytes of all queued datagrams. */
  get queued(): number {
    return this.#queued.bytes;
  }

  [Symbol.iterator](): Iterator<UdpFlow> {
    return this.#flows[Symbol.iterator]();
  }

  /**
   * Receives the datagram in `packet`, or several that the device has merged.
   * @param segmentSize bytes of payload of each merged datagram; 0 for a single one.
   */
  receive(
    packet: IpPacket,
    checksumVouched: boolean,
    segmentSize: number,
    now: number,
  ): UdpOutcome {
    const datagram = this.#datagram;
    const { drops, queues } = this.#options;
    const size = packet.end - packet.start;
    const fault = readUdpDatagram(packet, checksumVouched, datagram);
    if (fault !== undefined) {
      drops.add(fault, size, now);
      return 'dropped';
    }
    const flow = this.#flowOf(packet, size, now);
    if (typeof flow === 'string') return flow;
    const known = flow.peers.known(flow.isClient ? packet.destination : packet.source);
    if (!known.isChecked) {
      if (flow.isClient && this.#isReturned(packet)) {
        drops.add('returned', size, now);
        return 'dropped';
      }
      known.isChecked = true;
    }
    flow.activeAt = now;
    if (flow.isClient) {
      if (flow.stage === Stage.answered) this.#order.lasts(flow);
    } else if (flow.stage === Stage.unanswered) this.#order.answered(flow);
    const peer = known.text;
    const batch = this.#batch;
    batch.begin(datagram, segmentSize);
    while (batch.next()) {
      const data = copyOf(datagram.bytes, batch.start, batch.end);
      if (!flow.push({ data, peer })) drops.add('queue', data.length, now);
    }
    if (flow.isCrowded) this.#isCrowded = true;
    queues.report(flow);
    return 'taken';
  }

  /** Whether queues should be emptied before more is received. A call resets this. */
  takeCrowded(): boolean {
    const isCrowded = this.#isCrowded;
    this.#isCrowded = false;
    return isCrowded;
  }

  /**
   * Opens an association of an own port. When no port or no room is left, the least active one is evicted.
   *
   * @param client the address of the client that it is for; '' if there is none.
   * @returns `undefined` when no association can be evicted.
   */
  bind(client: string, now: number): UdpFlow | undefined {
    const local = blankEndpoint();
    const port =
      this.#freePort(local) ??
      this.#evict(this.#order.victim(client, now), 'evicted', now)?.local.port;
    if (port === undefined) return undefined;
    local.port = port;
    const flow = new UdpFlow(local, ANY, false, Infinity, this.#queued, now);
    this.#flows.add(flow);
    this.#order.add(flow, client);
    return flow;
  }

  /**
   * Sends one datagram: from `peer` to the client, or from the own port to `peer`.
   *
   * @returns false when the datagram was dropped: too large, of another family, or no room.
   */
  send(flow: UdpFlow, data: Uint8Array, peer: IpEndpoint, now: number): boolean {
    const { output, pathMtu } = this.#options;
    const from = flow.isClient ? peer : this.#ownEndpoint(flow, peer);
    const to = flow.isClient ? flow.remote : peer;
    const size = UDP_HEADER_SIZE + data.length;
    if (
      flow.isClosed ||
      from === undefined ||
      isIPv4Endpoint(from) !== isIPv4Endpoint(to) ||
      size > largestTransport(to)
    ) {
      return false;
    }
    const at = output.begin(to, size, this.#mtuFor(to, size, pathMtu, now));
    if (at < 0) return false;
    const { buffer } = output;
    writeUdpHeader(buffer, at, from.port, to.port, data.length);
    buffer.set(data, at + UDP_HEADER_SIZE);
    output.end(from, to, IpProtocol.UDP, UDP_CHECKSUM_OFFSET, 0, false);
    flow.activeAt = now;
    if (!flow.isClient) {
      if (flow.stage === Stage.answered) this.#order.lasts(flow);
      return true;
    }
    if (flow.stage === Stage.unanswered) this.#order.answered(flow);
    if (flow.lastSender !== peer) this.#onSender(flow, peer);
    return true;
  }

  /**
   * Evicts an association so that another flow of a client can begin: see `AssociationOrder`.
   * @returns false when none can be evicted.
   */
  evictFor(client: IpEndpoint, now: number): boolean {
    return (
      this.#evict(this.#order.victim(addressNumber(client), now), 'evicted', now) !== undefined
    );
  }

  /** Whether there is an association that sends from `local` to `remote`. */
  has(local: IpEndpoint, remote: IpEndpoint): boolean {
    if (this.#options.listens) return this.#flows.find(ANY, remote) !== undefined;
    this.#key.port = local.port;
    return this.#flows.find(this.#key, ANY) !== undefined;
  }

  close(flow: UdpFlow): void {
    if (flow.isClosed) return;
    flow.isClosed = true;
    flow.clear();
    this.#order.delete(flow);
    this.#flows.remove(flow);
    this.#options.queues.wheel.remove(flow);
  }

  /** Expires an association, unless its deadline has moved. */
  onTimeout(flow: UdpFlow, now: number): void {
    const { queues } = this.#options;
    if (flow.deadline > now) queues.wheel.schedule(flow, flow.deadline);
    else {
      flow.expire();
      queues.report(flow);
    }
  }

  /** Ends an association, if there is one, and returns it. */
  #evict(victim: UdpFlow | undefined, reason: DropReason, now: number): UdpFlow | undefined {
    if (victim === undefined) return undefined;
    const { drops, queues } = this.#options;
    drops.add(reason, 0, now);
    this.close(victim);
    victim.onEvicted();
    queues.report(victim);
    return victim;
  }

  /**
   * Finds a free port.
   * @param local its port is changed.
   */
  #freePort(local: MutableIpEndpoint): number | undefined {
    const { random, hasRoom } = this.#options;
    if (!hasRoom()) return undefined;
    return chooseLocalPort(random, (candidate) => {
      local.port = candidate;
      return this.#flows.find(local, ANY) === undefined ? 'free' : 'used';
    });
  }

  #flowOf(packet: IpPacket, size: number, now: number): UdpFlow | UdpOutcome {
    const { listens, drops, idle, queues } = this.#options;
    const { source, destination } = packet;
    const key = this.#key;
    key.port = destination.port;
    const known = listens ? this.#flows.find(ANY, source) : this.#flows.find(key, ANY);
    if (known !== undefined) return known;
    if (!listens) {
      drops.add('no socket', size, now);
      return 'no socket';
    }
    if (this.#isReturned(packet)) {
      drops.add('returned', size, now);
      return 'dropped';
    }
    // A datagram from port 0 cannot be replied to.
    const refusal =
      source.port === 0 ? 'udp port zero' : this.#makeRoom(source, destination.port, now);
    if (refusal !== undefined) {
      drops.add(refusal, size, now);
      return 'dropped';
    }
    const flow = new UdpFlow(ANY, source, true, idle(), this.#queued, now);
    flow.request = destination.port === DNS_PORT ? RequestKind.query : RequestKind.association;
    this.#flows.add(flow);
    this.#order.add(flow, addressNumber(source));
    queues.wheel.schedule(flow, flow.deadline);
    return flow;
  }

  /**
   * Makes room for a new association, by evicting another one at a limit.
   * @returns the reason why there is none.
   */
  #makeRoom(source: IpEndpoint, port: number, now: number): DropReason | undefined {
    const client = addressNumber(source);
    const order = this.#order;
    if (!this.#options.hasRoom()) {
      const mayReplace = this.#options.isFull() && this.#mayReplace(client, port, now);
      return mayReplace && this.#evict(order.victim(client, now), 'evicted', now)
        ? undefined
        : 'flow limit';
    }
    if (order.brief < MAX_BRIEF_ASSOCIATIONS && order.briefOf(client) < MAX_BRIEF_OF_CLIENT) {
      return undefined;
    }
    if (!this.#mayReplace(client, port, now)) return 'brief associations';
    // Queries that were answered just now give way to none.
    this.#evict(order.briefVictim(client, now), 'brief associations', now);
    return undefined;
  }

  #mayReplace(client: number, port: number, now: number): boolean {
    const limit = port === DNS_PORT ? this.#replacedByQueries : this.#replaced;
    return this.#order.isLight(client) || limit.take(now);
  }

  /**
   * Whether this stack itself sent the datagram, as a peer to a client. If the client's address is routed to the
   * device, for example because it was forged, datagrams to it come back, and two services that respond to each other
   * would do so indefinitely.
   */
  #isReturned({ source, destination }: IpPacket): boolean {
    const client = this.#flows.find(ANY, destination);
    return client?.peers.find(source)?.isSent === true;
  }

  /** Records that a client got a datagram from another peer: a datagram between these two may be a returned one. */
  #onSender(flow: UdpFlow, peer: IpEndpoint): void {
    flow.lastSender = peer;
    const sender = flow.peers.find(peer);
    if (sender === undefined || sender.isSent) return;
    sender.isSent = true;
    const reverse = this.#flows.find(ANY, peer)?.peers.find(flow.remote);
    if (reverse !== undefined) reverse.isChecked = false;
  }

  #ownEndpoint(flow: UdpFlow, peer: IpEndpoint): IpEndpoint | undefined {
    const address = this.#options.sourceFor(peer);
    if (address === undefined) return undefined;
    Object.assign(this.#from, address);
    this.#from.port = flow.local.port;
    return this.#from;
  }

  /** Returns the path MTU to an address; it matters only above the minimum MTU of IPv6. */
  #mtuFor(
    to: IpEndpoint,
    size: number,
    pathMtu: (remote: IpEndpoint, now: number) => number,
    now: number,
  ): number {
    const { mtu } = this.#options.output.traits;
    return Math.min(mtu, ipHeaderSize(to) + size > 1280 ? pathMtu(to, now) : mtu);
  }
}
