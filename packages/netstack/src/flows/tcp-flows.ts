import { type CreateController, SendControl } from '@weir/congestion';
import type { RandomSource } from '@weir/base/random';
import { assignEndpoint, blankEndpoint, type IpEndpoint } from '@weir/base/ip';
import type { FlowQueues } from './flow-queues.ts';
import { RequestKind } from './request-kind.ts';
import { FlowTable } from './flow-table.ts';
import { ipHeaderSize, type IpOutput } from '../ip/ip-output.ts';
import { ConnectionPlaces, type ConnectionPlacesOptions } from './connection-places.ts';
import { FlowMemory, TcpFlow, TimeWaitFlow, TimeWaitFlows } from './tcp-flow.ts';
import {
  BYTES_A_TURN,
  MAX_QUOTED_SYN,
  RESTORED_A_TURN,
  RESTORED_INTERVAL,
  SCANNED_A_TURN,
} from '../limits.ts';
import { chooseLocalPort, type PortState } from './local-ports.ts';
import { SegmentWriter, StraySegments } from './segment-writer.ts';
import { TcpConnection } from '../tcp/connection.ts';
import type { TcpSettings } from '../tcp/tcb.ts';
import type { TcpEvent } from '../tcp/state.ts';
import { InitialSequences } from '../tcp/initial-sequences.ts';
import type { TcpPath } from '../tcp/segment-output.ts';
import { copyOf } from '@weir/base/bytes';
import type { IpPacket } from '../wire/ip-packet.ts';
import { readTcpSegment, TCP_HEADER_SIZE, TcpFlag, TcpSegment } from '../wire/tcp.ts';

/** Dependencies of all connections of a stack. */
interface TcpFlowsOptions extends Omit<ConnectionPlacesOptions, 'connections' | 'end'> {
  readonly random: RandomSource;
  readonly output: IpOutput;
  readonly queues: FlowQueues;
  /** Whether a SYN for no connection is a request. */
  readonly listens: boolean;
  readonly settings: Omit<TcpSettings, 'memory'>;
  readonly congestion: CreateController;
  /** Bytes that all connections may hold; see `MAX_BUFFERED_BYTES`. */
  readonly maxHeld: number;
  /** Returns the size in bytes of the largest packet to an address. */
  readonly pathMtu: (remote: IpEndpoint, now: number) => number;
}

const CONTROL = TcpFlag.SYN | TcpFlag.ACK | TcpFlag.RST | TcpFlag.FIN;
const LARGEST_TCP_HEADER = 60;

/** The TCP connections of a stack: delivers segments to them, and opens, accepts and removes them. */
export class TcpFlows {
  readonly #options: TcpFlowsOptions;
  readonly #writer: SegmentWriter;
  readonly #settings: TcpSettings;
  readonly #flows: FlowTable<TcpFlow>;
  readonly #waiting: TimeWaitFlows;
  readonly #restored = new RestoredFlows();
  readonly #places: ConnectionPlaces;
  readonly #memory: FlowMemory;
  readonly #strays: StraySegments;
  readonly #sequences: InitialSequences;
  readonly #segment = new TcpSegment();
  readonly #candidate = blankEndpoint();
  /** Number of changes of path MTUs so far. */
  #pathVersion = 0;

  constructor(options: TcpFlowsOptions) {
    const { random } = options;
    this.#options = options;
    this.#writer = new SegmentWriter(options.output);
    this.#memory = new FlowMemory(options.maxHeld);
    this.#settings = { ...options.settings, memory: this.#memory };
    this.#strays = new StraySegments(this.#writer, options.drops);
    this.#places = new ConnectionPlaces({
      ...options,
      connections: () => this.size,
      end: (flow, now) => this.#end(flow, now),
    });
    this.#flows = new FlowTable(random);
    this.#waiting = new TimeWaitFlows(random);
    this.#sequences = new InitialSequences(random);
  }

  /** Number of connections, without those in TIME-WAIT. */
  get size(): number {
    return this.#flows.size;
  }

  get timeWait(): number {
    return this.#waiting.size;
  }

  /** Number of bytes that all connections hold: unread and unacknowledged. */
  get held(): number {
    return this.#memory.held;
  }

  [Symbol.iterator](): Iterator<TcpFlow> {
    return this.#flows[Symbol.iterator]();
  }

  /** Handles the TCP segment in `packet`. */
  receive(packet: IpPacket, checksumVouched: boolean, now: number): void {
    const segment = this.#segment;
    const fault = readTcpSegment(packet, checksumVouched, segment);
    if (fault !== undefined) {
      this.#options.drops.add(fault, packet.end - packet.start, now);
      return;
    }
    const { destination, source } = packet;
    const flow = this.#flows.find(destination, source);
    if (flow !== undefined) {
      flow.connection.segmentArrives(segment, now);
      this.#options.queues.touch(flow);
      return;
    }
    const waiting = this.#waiting.find(destination, source);
    const reopens = waiting !== undefined && this.#meetsTimeWait(waiting, now);
    if (waiting !== undefined && !reopens) return;
    if (this.#options.listens && (segment.flags & CONTROL) === TcpFlag.SYN) {
      this.#request(packet, waiting?.timeWait.nextInitialSequence, now);
    } else this.#strays.receive(packet, segment, now);
  }

  /**
   * Begins a connection.
   * @param from the own address; the port is chosen here.
   * @returns `undefined` when there is no room, or all ports have live connections to `to`.
   */
  connect(from: IpEndpoint, to: IpEndpoint, now: number): TcpFlow | undefined {
    if (!this.#options.hasRoom()) return undefined;
    const local = this.#candidate;
    assignEndpoint(local, from);
    const port = chooseLocalPort(this.#options.random, (candidate) => {
      local.port = candidate;
      return this.#portState(local, to, now);
    });
    if (port === undefined) return undefined;
    local.port = port;
    const previous = this.#waiting.find(local, to);
    if (previous !== undefined) this.#waiting.remove(previous);
    return this.#open('active', local, to, previous?.timeWait.nextInitialSequence, now);
  }

  /** Sends the next segments of a connection, as far as there is room. @returns whether it has more. */
  transmit(flow: TcpFlow, now: number): boolean {
    if (flow.isForgotten) return false;
    if (flow.pathVersion !== this.#pathVersion) this.#setPath(flow, now);
    const out = this.#writer.between(flow.local, flow.remote);
    const { connection } = flow;
    const hasMore = connection.transmit(now, out, BYTES_A_TURN);
    this.#memory.account(flow, connection.held);
    if (hasMore) return true;
    this.#options.queues.wheel.schedule(flow, connection.nextTimeout());
    // The event `closed` follows the last segment.
    this.#options.queues.report(flow);
    return false;
  }

  /** Handles an event of a connection before its owner receives it. */
  onEvent(flow: TcpFlow, event: TcpEvent, now: number): void {
    switch (event) {
      case 'established':
        this.#places.onEstablished(flow, this.#options.listens && !flow.isForgotten);
        flow.syn = undefined;
        break;
      case 'failed':
        this.#places.onFailed(flow);
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

  /** Schedules a connection; must be called after each call of the connection by the application. */
  touch(flow: TcpFlow): void {
    if (flow.isForgotten) this.#memory.account(flow, flow.connection.held);
    else this.#options.queues.touch(flow);
  }

  /** Accepts a request: the SYN-ACK is sent with the next `transmit`. */
  accept(flow: TcpFlow): void {
    flow.syn = undefined;
    flow.connection.accept();
    this.#places.onAccepted(flow);
    this.#options.queues.touch(flow);
  }

  /**
   * Refuses a request.
   * @param how `silent` also if an ICMP message is sent instead. The client's next SYN is a new request.
   */
  refuse(flow: TcpFlow, how: 'reset' | 'silent', now: number): void {
    flow.syn = undefined;
    flow.connection.refuse(how, now);
    this.#options.queues.touch(flow);
  }

  /** Applies a change of the device's MTU. */
  onMtu(now: number): void {
    for (const flow of this.#flows) {
      this.#setPath(flow, now);
      this.#options.queues.touch(flow);
    }
  }

  /**
   * Applies a lower path MTU of an address, reported to one of its connections. The others update theirs when they next
   * send, so that the cost of a report does not grow with their number.
   */
  onPathMtu(local: IpEndpoint, remote: IpEndpoint, now: number): void {
    this.#pathVersion++;
    const flow = this.#flows.find(local, remote);
    if (flow === undefined) return;
    this.#setPath(flow, now);
    this.#options.queues.touch(flow);
  }

  /** Handles an ICMP message that reports a segment between these endpoints as undelivered. */
  onUnreachable(local: IpEndpoint, remote: IpEndpoint, sequence: number, now: number): void {
    const flow = this.#flows.find(local, remote);
    if (flow === undefined) return;
    flow.connection.onUnreachable(sequence, now);
    this.#options.queues.touch(flow);
  }

  /** Returns the connection between these endpoints. */
  find(local: IpEndpoint, remote: IpEndpoint): TcpFlow | undefined {
    return this.#flows.find(local, remote);
  }

  /** Calls `TcpConnection.onPathRestored` for connections in backoff, a few at a time. */
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
      this.#options.queues.touch(flow);
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
    const { mtu, tcpSegmentation, largest } = this.#options.output.traits;
    const headers = ipHeaderSize(remote) + TCP_HEADER_SIZE;
    const room = largest - ipHeaderSize(remote) - LARGEST_TCP_HEADER;
    return {
      segmentBytes: Math.min(mtu, this.#options.pathMtu(remote, now)) - headers,
      announcedMss: mtu - headers,
      largestPayload: tcpSegmentation ? room : 0,
    };
  }

  /** Handles a segment for a connection in TIME-WAIT. @returns whether it opens another connection. */
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
        if (!this.#options.listens || !this.#options.hasRoom()) return false;
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
    const refusal = this.#places.find(source, destination, now);
    if (refusal !== undefined) {
      this.#options.drops.add(refusal, size, now);
      return;
    }
    const flow = this.#open('passive', destination, source, initialSequence, now);
    if (size <= MAX_QUOTED_SYN) flow.syn = copyOf(packet.bytes, packet.start, packet.end);
    this.#places.add(flow);
    flow.connection.segmentArrives(this.#segment, now);
  }

  /** Ends an evicted connection. */
  #end(flow: TcpFlow, now: number): void {
    flow.connection.abort(now);
    // Sends its RST before its place is reused.
    this.transmit(flow, now);
    this.#options.queues.report(flow);
    this.#forget(flow, now);
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
      control: new SendControl(
        this.#options.congestion(path.segmentBytes, this.#options.random),
        path.segmentBytes,
      ),
      trace: this.#options.drops.trace,
      now,
    });
    const flow = new TcpFlow(local, remote, connection);
    flow.pathVersion = this.#pathVersion;
    if (role === 'passive') flow.request = RequestKind.connection;
    this.#flows.add(flow);
    this.#options.queues.touch(flow);
    return flow;
  }

  #forget(flow: TcpFlow, now: number): void {
    if (flow.isForgotten) return;
    flow.isForgotten = true;
    // Unread data stays until its owner has read or dropped it.
    this.#memory.account(flow, flow.connection.held);
    this.#flows.remove(flow);
    this.#places.delete(flow);
    this.#options.queues.wheel.remove(flow);
    const { timeWait } = flow.connection;
    if (timeWait !== undefined && timeWait.expiresAt > now) {
      this.#waiting.add(new TimeWaitFlow(flow.local, flow.remote, timeWait));
    }
  }
}

/**
 * Connections that retransmit unacknowledged data after their path was restored: a few at a time, since all may have
 * waited for the path.
 */
class RestoredFlows {
  #flows: readonly TcpFlow[] = [];
  #next = 0;
  #at = Infinity;

  /** Starts a round through `flows`: those in backoff are restored. Replaces an earlier round. */
  begin(flows: readonly TcpFlow[], now: number): void {
    this.#flows = flows;
    this.#next = 0;
    this.#at = now;
  }

  /** Returns the time at which the next connections are due, in milliseconds; Infinity if none are left. */
  nextTimeout(): number {
    return this.#at;
  }

  /** Calls `restore` for connections that are due. */
  onTimeout(now: number, restore: (flow: TcpFlow) => void): void {
    if (now < this.#at) return;
    const end = Math.min(this.#next + SCANNED_A_TURN, this.#flows.length);
    for (let count = 0; this.#next < end && count < RESTORED_A_TURN; this.#next++) {
      const flow = this.#flows[this.#next];
      if (flow === undefined || flow.isForgotten || !flow.connection.isBackedOff) continue;
      restore(flow);
      count++;
    }
    this.#at = now + RESTORED_INTERVAL;
    if (this.#next < this.#flows.length) return;
    this.#flows = [];
    this.#at = Infinity;
  }
}
