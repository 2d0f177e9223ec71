import { type CreateController, cubic } from '@weir/congestion';
import type { RandomSource } from '@weir/base/random';
import {
  isIPv4Endpoint,
  isSameAddress,
  type IpEndpoint,
  type DeviceTraits,
  type InboundPacket,
  type PacketOutput,
} from '@weir/base/ip';
import type { Unreachable } from '@weir/io/links';
import { FlowQueues, StackEventRecords, type StackEvent } from './flows/flow-queues.ts';
import { Drops, type Trace } from './trace.ts';
import { IcmpMessages } from './ip/icmp-messages.ts';
import type { IcmpError } from './ip/icmp-replies.ts';
import { IpOutput } from './ip/ip-output.ts';
import {
  LEAST_SHARED_FLOWS,
  LEFT_TO_UDP,
  MAX_BUFFERED_BYTES,
  SENT_BYTES_A_TURN,
  TIMEOUTS_A_TURN,
  KEEP_ALIVE_IDLE,
  MAX_BACKLOG,
  MAX_RECEIVE_WINDOW,
} from './limits.ts';
import { FragmentReassembly } from './ip/fragment-reassembly.ts';
import type { TcpFlow } from './flows/tcp-flow.ts';
import { TcpFlows } from './flows/tcp-flows.ts';
import type { UdpFlow } from './flows/udp-flow.ts';
import { UdpFlows } from './flows/udp-flows.ts';
import { IpPacket, IpProtocol } from './wire/ip-packet.ts';
import { emptyDatagram } from './wire/udp.ts';
import { readIpPacket } from './wire/ip.ts';
import { NextHeader } from './wire/ipv6.ts';

/** Settings that may change while a stack runs. */
export interface StackSettings {
  /**
   * Bound of TCP connections, without those in TIME-WAIT, and UDP associations together. At the bound the least active
   * association is evicted, or a connection of a client that has far more than another. Otherwise SYNs and datagrams of
   * new clients are dropped; a client retransmits its SYN.
   */
  readonly maxFlows: number;
  /** Whether datagrams are accepted; if not they are dropped without an ICMP error. */
  readonly udp: boolean;
  /** Milliseconds without datagrams after which the association of a client ends. */
  readonly udpIdle: number;
}

/** The options of a stack, all but its settings for its lifetime. */
export interface StackOptions {
  /** The output that packets are written to. */
  readonly output: PacketOutput;
  readonly traits: DeviceTraits;
  readonly random: RandomSource;
  readonly now: number;
  /**
   * The own addresses. 'any': the stack acts as every destination, and connections and datagrams of its peers are
   * requests. A list, of at most one address of each family: connections begin here, from these addresses; requests of
   * peers are refused.
   */
  readonly addresses: 'any' | readonly IpEndpoint[];
  /** Broadcast addresses of networks (RFC 922): packets to them are dropped, like those to multicast groups. */
  readonly broadcasts?: readonly IpEndpoint[] | undefined;
  /** Whether segments are paced over the round trip; not if the path stays on this machine. */
  readonly isPaced: boolean;
  /** Creates the congestion controller of each connection; CUBIC by default. */
  readonly congestion?: CreateController | undefined;
  readonly settings: StackSettings;
  /** The bound of connections that are not established yet, if below `MAX_BACKLOG`. */
  readonly maxBacklog?: number | undefined;
  /** Replaces `MAX_BUFFERED_BYTES`. */
  readonly maxHeld?: number | undefined;
  readonly trace?: Trace | undefined;
}

/** The reason why a request is refused, which determines the response to its client. */
export type RefusalReason =
  /** Responds with a RST. */
  | 'refused'
  /** Responds with an ICMP message; with a RST if there were too many of these. */
  | 'host unreachable'
  | 'network unreachable'
  | 'prohibited'
  /** No response: each SYN that the client retransmits is a new request, until it gives up. */
  | 'timeout';

/**
 * A TCP/IP stack as a function of packets and time. No packet makes it throw.
 *
 * After every call, the driver calls `nextEvent` until there is none, then `transmit` until it returns false, both
 * again if handling events made further calls; then `nextTimeout`.
 */
export class Stack {
  readonly tcp: TcpFlows;
  readonly udp: UdpFlows;
  readonly #addresses: 'any' | readonly IpEndpoint[];
  readonly #broadcasts: readonly IpEndpoint[];
  readonly #output: IpOutput;
  readonly #queues: FlowQueues;
  readonly #drops: Drops;
  readonly #icmp: IcmpMessages;
  readonly #reassembly = new FragmentReassembly();
  readonly #packet = new IpPacket();
  readonly #records = new StackEventRecords();
  #settings: StackSettings;

  constructor(options: StackOptions) {
    const { random, addresses, trace, now } = options;
    this.#addresses = addresses;
    this.#broadcasts = options.broadcasts ?? [];
    this.#settings = options.settings;
    const identification = random.bytes(4).readUInt32LE(0);
    const output = new IpOutput(options.output, options.traits, identification);
    const queues = new FlowQueues(now);
    const drops = new Drops(trace);
    const shared = {
      random,
      output,
      queues,
      drops,
      listens: addresses === 'any',
      pathMtu: (remote: IpEndpoint, at: number) => this.#icmp.pathMtu(remote, at),
    };
    this.#output = output;
    this.#queues = queues;
    this.#drops = drops;
    this.tcp = new TcpFlows({
      ...shared,
      hasRoom: () => this.tcp.size + Math.max(this.udp.size, this.#leftToUdp) < this.#maxFlows,
      endMakesRoom: () => this.#endMakesRoom,
      makeRoom: (client, at) =>
        this.#isFull && this.udp.size > this.#leftToUdp && this.udp.evictFor(client, at),
      congestion: options.congestion ?? cubic,
      maxHeld: options.maxHeld ?? MAX_BUFFERED_BYTES,
      maxBacklog: Math.min(options.maxBacklog ?? MAX_BACKLOG, MAX_BACKLOG),
      settings: {
        keepAlive: KEEP_ALIVE_IDLE,
        receiveBuffer: MAX_RECEIVE_WINDOW,
        isPaced: options.isPaced,
      },
    });
    this.udp = new UdpFlows({
      ...shared,
      hasRoom: () => this.flows < this.#maxFlows,
      isFull: () => this.#isFull,
      sourceFor: (remote) => this.sourceFor(remote),
      idle: () => this.#settings.udpIdle,
    });
    this.#icmp = new IcmpMessages(random, output, drops, this.tcp, (local, remote) =>
      this.udp.has(local, remote),
    );
  }

  /** Number of TCP connections and UDP associations. */
  get flows(): number {
    return this.tcp.size + this.udp.size;
  }

  /** Number of received packets that were dropped. */
  get dropped(): number {
    return this.#drops.count;
  }

  /** Whether the output had no room; `transmit` must be called again when it has. */
  get isFull(): boolean {
    return this.#output.isFull;
  }

  /** Whether `transmit` may have segments to send. */
  get isReady(): boolean {
    return this.#queues.isReady;
  }

  /** Whether `nextEvent` may return an event other than a request. */
  get hasEvents(): boolean {
    return this.#queues.eventful !== undefined;
  }

  /** Whether `nextEvent` may return a request. */
  get hasRequests(): boolean {
    return this.#queues.hasRequests;
  }

  set settings(settings: StackSettings) {
    this.#settings = settings;
  }

  /** Applies a change of the device's traits. */
  setTraits(traits: DeviceTraits, now: number): void {
    this.#output.traits = traits;
    this.tcp.onMtu(now);
  }

  /**
   * Called when the device delivers again after a time without responses. Connections do not wait for the
   * end of their backoff: they retransmit with the next calls of `onTimeout`, a few at a time.
   */
  onPathRestored(now: number): void {
    this.tcp.onPathRestored(now);
  }

  /** Returns the own address of the destination's family; `undefined` if there is none. */
  sourceFor(remote: IpEndpoint): IpEndpoint | undefined {
    if (this.#addresses === 'any') return undefined;
    const isIPv4 = isIPv4Endpoint(remote);
    return this.#addresses.find((own) => isIPv4Endpoint(own) === isIPv4);
  }

  /** Handles a packet from the device. */
  receive(inbound: InboundPacket, now: number): void {
    const { buffer, start, end } = inbound;
    const packet = this.#packet;
    const fault = readIpPacket(buffer, start, end, packet);
    if (fault !== undefined) this.#drops.add(fault, end - start, now);
    else if (this.#isToGroup(packet)) this.#drops.add('group', end - start, now);
    else if (!this.#isLocal(packet)) this.#drops.add('not local', end - start, now);
    else if (packet.isFragment) this.#onFragment(now);
    else this.#onPacket(inbound.checksumVouched, inbound.segmentSize, now);
  }

  /** Begins a connection. @returns `undefined` when there is no own address for it, no port, or no room. */
  connect(to: IpEndpoint, now: number): TcpFlow | undefined {
    const from = this.sourceFor(to);
    return from === undefined ? undefined : this.tcp.connect(from, to, now);
  }

  /** Refuses a request. */
  refuse(flow: TcpFlow, reason: RefusalReason, now: number): void {
    const { syn } = flow;
    const error = errorOf(reason);
    const isReported =
      error !== undefined && syn !== undefined && this.#icmp.reportCopy(error, syn, now);
    this.tcp.refuse(flow, reason === 'timeout' || isReported ? 'silent' : 'reset', now);
  }

  /** Reports to the client of an association that `peer` is unreachable. */
  refuseDatagrams(flow: UdpFlow, peer: IpEndpoint, reason: Unreachable, now: number): void {
    const error = errorOf(reason);
    const isOneFamily = isIPv4Endpoint(flow.remote) === isIPv4Endpoint(peer);
    if (error === undefined || flow.isClosed || !isOneFamily) return;
    this.#icmp.reportCopy(error, emptyDatagram(flow.remote, peer), now);
  }

  /**
   * Sends segments that may be sent now: connections take turns of `BYTES_A_TURN`, until none has more, the
   * output is full, or `SENT_BYTES_A_TURN` are sent.
   * @returns whether there is more.
   */
  transmit(now: number): boolean {
    const queues = this.#queues;
    const until = this.#output.bytes + SENT_BYTES_A_TURN;
    while (this.#output.bytes < until) {
      const flow = queues.nextReady();
      if (flow === undefined) return false;
      if (!this.tcp.transmit(flow, now)) continue;
      queues.queue(flow);
      if (this.#output.isFull) return true;
    }
    return queues.isReady;
  }

  /**
   * Returns the next event; `undefined` when there is none. Flows with events take turns in the order of their first.
   * @param mayRequest whether the event may be a request, `requested` or `opened`. These come last.
   */
  nextEvent(now: number, mayRequest = true): StackEvent | undefined {
    const queues = this.#queues;
    for (;;) {
      const flow = queues.eventful;
      if (flow === undefined) {
        if (mayRequest && queues.takeRequest()) continue;
        return undefined;
      }
      if (flow.network === 'tcp') {
        const event = flow.connection.nextEvent();
        if (event !== undefined) {
          this.tcp.onEvent(flow, event, now);
          return this.#records.tcp(flow, event);
        }
      } else {
        const event = flow.nextEvent();
        if (event !== undefined) return this.#records.udp(flow, event);
      }
      queues.done();
    }
  }

  /** Returns the time at which `onTimeout` must be called, in milliseconds; Infinity for never. */
  nextTimeout(): number {
    return Math.min(
      this.#queues.wheel.earliest,
      this.#reassembly.nextTimeout(),
      this.tcp.nextTimeout(),
    );
  }

  /** Handles deadlines that have passed, at most `TIMEOUTS_A_TURN`; `nextTimeout` returns the next one. */
  onTimeout(now: number): void {
    const { wheel } = this.#queues;
    for (let count = 0; count < TIMEOUTS_A_TURN; count++) {
      const flow = wheel.take(now);
      if (flow === undefined) break;
      if (flow.network === 'udp') this.udp.onTimeout(flow, now);
      else {
        const deadline = flow.connection.nextTimeout();
        if (deadline > now) wheel.schedule(flow, deadline);
        else {
          flow.connection.onTimeout(now);
          this.#queues.touch(flow);
        }
      }
    }
    this.tcp.onTimeout(now);
    this.#reassembly.onTimeout(now, (first) => {
      this.#icmp.reportCopy('reassembly', first, now);
    });
  }

  /** Ends a flow; a connection with a RST, which is sent with the next `transmit`. */
  abort(flow: TcpFlow | UdpFlow, now: number): void {
    if (flow.network === 'udp') {
      this.udp.close(flow);
      return;
    }
    flow.connection.abort(now);
    this.#queues.touch(flow);
  }

  get #maxFlows(): number {
    return this.#settings.maxFlows;
  }

  /** The number of flows that is reserved for associations. */
  get #leftToUdp(): number {
    return Math.floor(this.#maxFlows * LEFT_TO_UDP);
  }

  get #isFull(): boolean {
    return this.#endMakesRoom && this.flows === this.#maxFlows;
  }

  /**
   * Whether there will be room as soon as another flow ends: after a change of the settings there may be more flows
   * than the limit.
   */
  get #endMakesRoom(): boolean {
    return this.#maxFlows >= LEAST_SHARED_FLOWS && this.flows <= this.#maxFlows;
  }

  /**
   * Multicast and broadcast packets between neighbours (mDNS, SSDP, NetBIOS; MLD and router solicitations) do not
   * concern this stack, which has no neighbours.
   */
  #isToGroup({ destination, toGroup }: IpPacket): boolean {
    return toGroup || isAmong(this.#broadcasts, destination);
  }

  #isLocal({ destination }: IpPacket): boolean {
    return this.#addresses === 'any' || isAmong(this.#addresses, destination);
  }

  #onFragment(now: number): void {
    const packet = this.#packet;
    const outcome = this.#reassembly.receive(packet, now);
    if (outcome === 'held' || outcome === 'duplicate') return;
    if (outcome !== 'complete') {
      this.#drops.add(outcome, packet.end - packet.start, now);
      return;
    }
    const { packet: whole, packetSize } = this.#reassembly;
    const fault = readIpPacket(whole, 0, packetSize, packet);
    if (fault !== undefined) this.#drops.add(fault, packetSize, now);
    else this.#onPacket(false, 0, now);
  }

  #onPacket(checksumVouched: boolean, segmentSize: number, now: number): void {
    const packet = this.#packet;
    switch (packet.protocol) {
      case IpProtocol.TCP:
        this.tcp.receive(packet, checksumVouched, now);
        break;
      case IpProtocol.UDP:
        this.#onUdp(checksumVouched, segmentSize, now);
        break;
      case IpProtocol.ICMP:
      case IpProtocol.ICMPV6:
        this.#icmp.receive(packet, checksumVouched, now);
        break;
      case NextHeader.NONE:
        // RFC 8200 §4.7: nothing follows the header, which is not an unknown protocol. In IPv4 the number means the
        // same.
        this.#drops.add('no next header', packet.end - packet.start, now);
        break;
      default:
        this.#drops.add('protocol', packet.end - packet.start, now);
        this.#icmp.report('protocol unreachable', packet, now);
    }
  }

  #onUdp(checksumVouched: boolean, segmentSize: number, now: number): void {
    const packet = this.#packet;
    if (!this.#settings.udp) {
      this.#drops.add('udp disabled', packet.end - packet.start, now);
    } else if (this.udp.receive(packet, checksumVouched, segmentSize, now) === 'no socket') {
      this.#icmp.report('port unreachable', packet, now);
    }
  }
}

function isAmong(addresses: readonly IpEndpoint[], address: IpEndpoint): boolean {
  for (const each of addresses) if (isSameAddress(each, address)) return true;
  return false;
}

function errorOf(reason: RefusalReason | Unreachable): IcmpError | undefined {
  switch (reason) {
    case 'host unreachable':
    case 'port unreachable':
    case 'prohibited':
      return reason;
    case 'network unreachable':
      return 'no route';
    case 'refused':
    case 'timeout':
      return undefined;
    default:
      return reason satisfies never;
  }
}
