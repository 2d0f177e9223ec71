import { Cubic } from '../../congestion/cubic.ts';
import { SendControl } from '../../congestion/send-control.ts';
import type { RandomSource } from '../../crypto/random-source.ts';
import { assignEndpoint, blankEndpoint, type IpEndpoint } from '../../ip/ip-endpoint.ts';
import { RateLimit } from '../../net/time/rate-limit.ts';
import type { Activity } from './activity.ts';
import { addressNumber, networkNumber } from '../ip/address-hash.ts';
import type { Drops } from '../drops.ts';
import { FlowTable } from './flow-table.ts';
import { ipHeaderSize, type IpOutput } from '../ip/ip-output.ts';
import { Established } from './established.ts';
import {
  BYTES_A_TURN,
  MAX_QUOTED_SYN,
  PENDING_BESIDE_ESTABLISHED,
  STRAY_RESPONSES_A_SECOND,
} from '../limits.ts';
import { chooseLocalPort, type PortState } from './local-ports.ts';
import { RestoredFlows } from './restored-flows.ts';
import { SegmentWriter } from './segment-writer.ts';
import { ListenBacklog } from '../tcp/lifecycle/listen-backlog.ts';
import { TcpConnection, type TcpSettings } from '../tcp/connection.ts';
import type { TcpEvent } from '../tcp/events.ts';
import { InitialSequences } from '../tcp/lifecycle/initial-sequences.ts';
import type { TcpPath } from '../tcp/segment-output.ts';
import { TcpFlow } from './tcp-flow.ts';
import { TimeWaitFlow, TimeWaitFlows } from './time-wait-flows.ts';
import { copyOf } from '../../collections/copy-bytes.ts';
import type { IpPacket } from '../wire/ip-packet.ts';
import {
  readTcpSegment,
  sequenceLength,
  TCP_HEADER_SIZE,
  TcpFlag,
  TcpSegment,
} from '../wire/tcp.ts';

/** What the connections of a stack share. */
export interface TcpFlowsOptions {
  readonly random: RandomSource;
  readonly output: IpOutput;
  readonly activity: Activity;
  readonly drops: Drops;
  /** Whether a SYN for no connection is a request. */
  readonly listens: boolean;
  readonly settings: Omit<TcpSettings, 'memory'>;
  /** See `MAX_BUFFERED_BYTES`. */
  readonly maxHeld: number;
  /** See `MAX_BACKLOG`. */
  readonly maxBacklog: number;
  /** Whether there is room for another connection. */
  readonly hasRoom: () => boolean;
  /** Whether there is room as soon as another flow ends. */
  readonly isFull: () => boolean;
  /** Ends an association in favour of a connection of a client. @returns whether one gave way. */
  readonly makeRoom: (client: IpEndpoint, now: number) => boolean;
  /** Bytes of the largest packet to an address. */
  readonly pathMtu: (remote: IpEndpoint, now: number) => number;
}

const CONTROL = TcpFlag.SYN | TcpFlag.ACK | TcpFlag.RST | TcpFlag.FIN;
const LARGEST_TCP_HEADER = 60;

/** The TCP connections of a stack: which one a segment is for, and what a segment for none does. */
export class TcpFlows {
  readonly #random: RandomSource;
  readonly #output: IpOutput;
  readonly #writer: SegmentWriter;
  readonly #activity: Activity;
  readonly #drops: Drops;
  readonly #listens: boolean;
  readonly #settings: TcpSettings;
  readonly #maxHeld: number;
  readonly #hasRoom: () => boolean;
  readonly #isFull: () => boolean;
  readonly #makeFlowRoom: (client: IpEndpoint, now: number) => boolean;
  readonly #pathMtu: (remote: IpEndpoint, now: number) => number;
  readonly #flows: FlowTable<TcpFlow>;
  readonly #waiting: TimeWaitFlows;
  readonly #restored = new RestoredFlows();
  readonly #backlog: ListenBacklog<TcpFlow, number, number>;
  /** Of clients. */
  readonly #established = new Established<TcpFlow, number>();
  readonly #sequences: InitialSequences;
  readonly #responses = new RateLimit(STRAY_RESPONSES_A_SECOND);
  readonly #segment = new TcpSegment();
  readonly #candidate = blankEndpoint();
  /** Of the request at hand. */
  readonly #ends = { address: 0, network: 0 };
  /** Bytes that all connections hold. */
  #held = 0;
  /** Counts what was learned of paths. */
  #pathVersion = 0;

  constructor(options: TcpFlowsOptions) {
    const { random } = options;
    this.#random = random;
    this.#output = options.output;
    this.#writer = new SegmentWriter(options.output);
    this.#activity = options.activity;
    this.#drops = options.drops;
    this.#listens = options.listens;
    this.#settings = { ...options.settings, memory: this };
    this.#maxHeld = options.maxHeld;
    this.#backlog = new ListenBacklog(options.maxBacklog);
    this.#hasRoom = options.hasRoom;
    this.#isFull = options.isFull;
    this.#makeFlowRoom = options.makeRoom;
    this.#pathMtu = options.pathMtu;
    this.#flows = new FlowTable(random);
    this.#waiting = new TimeWaitFlows(new FlowTable(random));
    this.#sequences = new InitialSequences(random);
  }

  /** Connections, without those in TIME-WAIT. */
  get size(): number {
    return this.#flows.size;
  }

  get timeWait(): number {
    return this.#waiting.size;
  }

  /** Bytes of memory that all connections hold: unread, and unacknowledged. */
  get held(): number {
    return this.#held;
  }

  /** Whether there is memory for larger buffers. */
  get mayGrow(): boolean {
    return this.#held * 2 < this.#maxHeld;
  }

  /** Whether all of the memory is used. */
  get isShort(): boolean {
    return this.#held >= this.#maxHeld;
  }

  [Symbol.iterator](): Iterator<TcpFlow> {
    return this.#flows[Symbol.iterator]();
  }

  /** Takes the TCP segment in `packet`. */
  receive(packet: IpPacket, vouched: boolean, now: number): void {
    const segment = this.#segment;
    const fault = readTcpSegment(packet, vouched, segment);
    if (fault !== undefined) {
      this.#drops.add(fault, packet.end - packet.start, now);
      return;
    }
    const { destination, source } = packet;
    const flow = this.#flows.find(destination, source);
    if (flow !== undefined) {
      flow.connection.segmentArrives(segment, now);
      this.#activity.touch(flow);
      return;
    }
    const waiting = this.#waiting.find(destination, source);
    const reopens = waiting !== undefined && this.#meetsTimeWait(waiting, now);
    if (waiting !== undefined && !reopens) return;
    if (this.#listens && (segment.flags & CONTROL) === TcpFlag.SYN) {
      this.#request(packet, waiting?.timeWait.nextInitialSequence, now);
    } else this.#onStray(packet, now);
  }

  /**
   * Begins a connection.
   * @param from the own address; its port is chosen here.
   * @returns undefined when there is no room for it, or all ports have live connections to `to`.
   */
  connect(from: IpEndpoint, to: IpEndpoint, now: number): TcpFlow | undefined {
    if (!this.#hasRoom()) return undefined;
    const local = this.#candidate;
    assignEndpoint(local, from);
    const port = chooseLocalPort(this.#random, (candidate) => {
      local.port = candidate;
      return this.#portState(local, to, now);
    });
    if (port === undefined) return undefined;
    local.port = port;
    const previous = this.#waiting.find(local, to);
    if (previous !== undefined) this.#waiting.remove(previous);
    return this.#open('active', local, to, previous?.timeWait.nextInitialSequence, now);
  }

  /** The next segments of a connection, as far as there is room. @returns whether it has more. */
  transmit(flow: TcpFlow, now: number): boolean {
    if (flow.isForgotten) return false;
    if (flow.pathVersion !== this.#pathVersion) this.#setPath(flow, now);
    const out = this.#writer.between(flow.local, flow.remote);
    const { connection } = flow;
    const hasMore = connection.transmit(now, out, BYTES_A_TURN);
    this.#account(flow, connection.held);
    if (hasMore) return true;
    this.#activity.wheel.schedule(flow, connection.nextTimeout());
    // 'closed' waits for the last segment.
    this.#activity.report(flow);
    return false;
  }

  /** What an event of a connection means to the stack; its owner gets it afterwards. */
  onEvent(flow: TcpFlow, event: TcpEvent, now: number): void {
    switch (event) {
      case 'established':
        this.#backlog.remove(flow);
        flow.syn = undefined;
        if (this.#listens && !flow.isForgotten) {
          this.#established.add(flow, addressNumber(flow.remote));
        }
        break;
      case 'failed':
        this.#backlog.remove(flow);
        flow.syn = undefined;
        break;
      case 'closed':
        this.#forget(flow, now);
        break;
      case 'requested':
      case 'readable':
      case 'end':
      case 'writable':
      case 'finished':
        break;
      default:
        event satisfies never;
    }
  }

  /** The owner of a request has decided for it. */
  accept(flow: TcpFlow): void {
    flow.syn = undefined;
    flow.connection.accept();
    this.#backlog.answered(flow);
    this.#activity.touch(flow);
  }

  /**
   * The owner of a request has decided against it.
   * @param how silence, also where an ICMP message is sent instead. The client's next SYN is a new request.
   */
  refuse(flow: TcpFlow, how: 'reset' | 'silent', now: number): void {
    flow.syn = undefined;
    flow.connection.refuse(how, now);
    this.#activity.touch(flow);
  }

  /** The MTU of the device has changed. */
  onMtu(now: number): void {
    for (const flow of this.#flows) {
      this.#setPath(flow, now);
      this.#activity.touch(flow);
    }
  }

  /**
   * The path to an address takes smaller packets, as was reported to a connection of it. All others see that
   * at their next turn to send, so that a report costs the same however many there are.
   */
  onPathMtu(local: IpEndpoint, remote: IpEndpoint, now: number): void {
    this.#pathVersion++;
    const flow = this.#flows.find(local, remote);
    if (flow === undefined) return;
    this.#setPath(flow, now);
    this.#activity.touch(flow);
  }

  /** ICMP reports that a segment between these endpoints did not arrive. */
  onUnreachable(local: IpEndpoint, remote: IpEndpoint, sequence: number, now: number): void {
    const flow = this.#flows.find(local, remote);
    if (flow === undefined) return;
    flow.connection.onUnreachable(sequence, now);
    this.#activity.touch(flow);
  }

  /** The connection between these endpoints. */
  find(local: IpEndpoint, remote: IpEndpoint): TcpFlow | undefined {
    return this.#flows.find(local, remote);
  }

  /** See `TcpConnection.onPathRestored`: all of them, a few at a time. */
  onPathRestored(now: number): void {
    this.#restored.begin(this.#flows.toArray(), now);
  }

  nextTimeout(): number {
    return Math.min(this.#waiting.nextTimeout(), this.#restored.nextTimeout());
  }

  onTimeout(now: number): void {
    this.#waiting.onTimeout(now);
    this.#restored.onTimeout(now, (flow) => {
      flow.connection.onPathRestored(now);
      this.#activity.touch(flow);
    });
  }

  #portState(local: IpEndpoint, to: IpEndpoint, now: number): PortState {
    if (this.#flows.find(local, to) !== undefined) return 'used';
    const waiting = this.#waiting.find(local, to);
    if (waiting === undefined) return 'free';
    return waiting.timeWait.mayFollow(now) ? 'reusable' : 'last resort';
  }

  #setPath(flow: TcpFlow, now: number): void {
    flow.pathVersion = this.#pathVersion;
    flow.connection.onPathMtu(this.#path(flow.remote, now).segmentBytes, now);
  }

  #path(remote: IpEndpoint, now: number): TcpPath {
    const { mtu, tcpSegmentation, largest } = this.#output.traits;
    const headers = ipHeaderSize(remote) + TCP_HEADER_SIZE;
    const room = largest - ipHeaderSize(remote) - LARGEST_TCP_HEADER;
    return {
      segmentBytes: Math.min(mtu, this.#pathMtu(remote, now)) - headers,
      announcedMss: mtu - headers,
      largestPayload: tcpSegmentation ? room : 0,
    };
  }

  /** @returns whether the segment opens another connection in its place. */
  #meetsTimeWait(flow: TimeWaitFlow, now: number): boolean {
    const { timeWait } = flow;
    const verdict = timeWait.segmentArrives(this.#segment, now);
    switch (verdict) {
      case 'restart':
      case 'acknowledge':
        if (verdict === 'restart') this.#waiting.restart(flow);
        timeWait.acknowledge(this.#writer.between(flow.local, flow.remote), now);
        return false;
      case 'reopen':
        if (!this.#listens || !this.#hasRoom()) return false;
        this.#waiting.remove(flow);
        return true;
      case 'closed':
        this.#waiting.remove(flow);
        return false;
      case 'ignored':
        return false;
      default:
        return verdict satisfies never;
    }
  }

  #request(packet: IpPacket, initialSequence: number | undefined, now: number): void {
    const size = packet.end - packet.start;
    const { destination, source } = packet;
    const ends = this.#ends;
    ends.address = addressNumber(source);
    ends.network = networkNumber(destination);
    if (!this.#hasRoom() && !this.#makeRoom(source, now)) {
      this.#drops.add('flow limit', size, now);
      return;
    }
    const hasPlace =
      this.#backlog.hasRoom(ends.address) || this.#displace(this.#backlog.victim(ends, now), now);
    if (!hasPlace) {
      this.#drops.add('backlog', size, now);
      return;
    }
    const flow = this.#open('passive', destination, source, initialSequence, now);
    if (size <= MAX_QUOTED_SYN) flow.syn = copyOf(packet.bytes, packet.start, packet.end);
    this.#backlog.add(flow, ends);
    flow.connection.segmentArrives(this.#segment, now);
  }

  /** Whether another flow gives way to the request at hand, where there are too many. */
  #makeRoom(client: IpEndpoint, now: number): boolean {
    if (!this.#isFull()) return false;
    if (this.#makeFlowRoom(client, now)) return true;
    const victim = this.#backlog.heavier(this.#ends) ?? this.#crowding();
    return this.#displace(victim, now) && this.#hasRoom();
  }

  /**
   * The established connection that gives way to the request at hand. A request may have a forged source, so
   * that few of those which are still to prove themselves may end any.
   */
  #crowding(): TcpFlow | undefined {
    const mayEnd = this.#backlog.size < this.#flows.size * PENDING_BESIDE_ESTABLISHED;
    return mayEnd ? this.#established.victim(this.#ends.address) : undefined;
  }

  /** Ends a connection of the backlog in favour of another one. */
  #displace(victim: TcpFlow | undefined, now: number): boolean {
    if (victim === undefined) return false;
    this.#drops.add(this.#established.has(victim) ? 'gave way' : 'backlog', 0, now);
    // To a client that waits for its dial it is as if its SYN had been lost.
    if (this.#backlog.isDialling(victim)) victim.connection.refuse('silent', now);
    victim.connection.abort(now);
    // Its RST, before its place is another one's.
    this.transmit(victim, now);
    this.#activity.report(victim);
    this.#forget(victim, now);
    return true;
  }

  #open(
    role: 'active' | 'passive',
    local: IpEndpoint,
    remote: IpEndpoint,
    initialSequence: number | undefined,
    now: number,
  ): TcpFlow {
    const path = this.#path(remote, now);
    const connection = new TcpConnection({
      role,
      initialSequence: initialSequence ?? this.#sequences.sequence(local, remote, now),
      timestampOffset: this.#sequences.timestampOffset(local, remote),
      path,
      settings: this.#settings,
      control: new SendControl(new Cubic(path.segmentBytes), path.segmentBytes),
      trace: this.#drops.trace,
      now,
    });
    const flow = new TcpFlow(local, remote, connection);
    flow.pathVersion = this.#pathVersion;
    this.#flows.add(flow);
    this.#activity.touch(flow);
    return flow;
  }

  #account(flow: TcpFlow, held: number): void {
    this.#held += held - flow.held;
    flow.held = held;
  }

  #forget(flow: TcpFlow, now: number): void {
    if (flow.isForgotten) return;
    flow.isForgotten = true;
    this.#account(flow, 0);
    this.#flows.remove(flow);
    this.#backlog.remove(flow);
    this.#established.delete(flow);
    this.#activity.wheel.remove(flow);
    const { timeWait } = flow.connection;
    if (timeWait !== undefined && timeWait.expiresAt > now) {
      this.#waiting.add(new TimeWaitFlow(flow.local, flow.remote, timeWait));
    }
  }

  /** RFC 9293 §3.10.7.1: what is for no connection gets a reset. */
  #onStray(packet: IpPacket, now: number): void {
    this.#drops.add('no connection', packet.end - packet.start, now);
    const { flags, sequence, acknowledgment, payload, payloadEnd } = this.#segment;
    if ((flags & TcpFlag.RST) !== 0) return;
    const { trace } = this.#drops;
    if (!this.#responses.take(now)) {
      if (trace !== undefined) trace({ kind: 'response-limited' }, now);
      return;
    }
    const out = this.#writer.between(packet.destination, packet.source);
    const { segment } = out;
    segment.clear();
    if ((flags & TcpFlag.ACK) !== 0) {
      segment.sequence = acknowledgment;
      segment.flags = TcpFlag.RST;
    } else {
      segment.acknowledgment = (sequence + sequenceLength(flags, payloadEnd - payload)) >>> 0;
      segment.flags = TcpFlag.RST | TcpFlag.ACK;
    }
    if (out.begin(0) < 0) return;
    out.end(0);
    if (trace !== undefined) trace({ kind: 'reset-sent' }, now);
  }
}
