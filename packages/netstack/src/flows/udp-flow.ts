import {
  addressText,
  copyEndpoint,
  isSameEndpoint,
  toEndpoint,
  type IpEndpoint,
} from '@weir/base/ip';
import type { Endpoint } from '@weir/io/addresses';
import {
  KNOWN_PEERS,
  DATAGRAM_OVERHEAD,
  LEAST_QUEUED_BYTES,
  MAX_ALL_QUEUED_BYTES,
  MAX_QUEUED_BYTES,
  MAX_QUEUED_DATAGRAMS,
} from '../limits.ts';
import { Stage, type Ordered } from '@weir/io/bounds';
import { type Packet, type PacketLink, ReceivingPackets, type Unreachable } from '@weir/io/links';
import { Fifo } from '@weir/base/collections';
import type { RequestKind } from './request-kind.ts';
import type { Keyed } from './flow-table.ts';
import type { Timed } from '@weir/base/timers';

/** The address of a peer as text and as numbers. */
interface Known {
  readonly text: Endpoint;
  readonly numbers: IpEndpoint;
  /** Whether a datagram of the client to this peer was checked not to be a returned one of this stack. */
  isChecked: boolean;
  /** Whether a datagram was sent to the client with this peer as its source. */
  isSent: boolean;
}

/**
 * The last peers of an association, so that a datagram does not cost a conversion of its address to or from
 * text. Bounded: the oldest is replaced.
 */
export class KnownPeers {
  readonly #known: Known[] = [];
  #next = 0;

  find(endpoint: IpEndpoint): Known | undefined {
    for (const known of this.#known) if (isSameEndpoint(known.numbers, endpoint)) return known;
    return undefined;
  }

  /** Finds or adds a peer. */
  known(endpoint: IpEndpoint): Known {
    const found = this.find(endpoint);
    if (found !== undefined) return found;
    const text = { host: addressText(endpoint), port: endpoint.port };
    return this.#add(text, copyEndpoint(endpoint));
  }

  /** Finds or adds a peer by its text; `undefined` if it is not an IP address with a valid port. */
  numbers({ host, port }: Endpoint): IpEndpoint | undefined {
    for (const { numbers, text } of this.#known) {
      if (text.port === port && text.host === host) return numbers;
    }
    const numbers = port > 0 && port <= 0xffff ? toEndpoint(host, port) : undefined;
    if (numbers !== undefined) this.#add({ host, port }, numbers);
    return numbers;
  }

  #add(text: Endpoint, numbers: IpEndpoint): Known {
    const known: Known = { text, numbers, isChecked: false, isSent: false };
    this.#known[this.#next] = known;
    this.#next = (this.#next + 1) % KNOWN_PEERS;
    return known;
  }
}

/** Events of an association. */
export type UdpEvent =
  /** The first datagram of a client has created the association. */
  | 'opened'
  /** `take` returns a datagram after it had returned none. */
  | 'readable'
  /** The association was idle for too long, or was evicted for another flow: the last event. */
  | 'expired';

/** The queues of all associations together. */
export interface QueuedDatagrams {
  bytes: number;
}

/**
 * The datagrams of one client, by its address and port, to and from any peer (a full cone, RFC 4787); or
 * those of an own port.
 */
export class UdpFlow implements Keyed, Timed, Ordered {
  readonly network = 'udp';
  /** The local endpoint: a port of this stack; the wildcard if `remote` is a client. */
  readonly local: IpEndpoint;
  readonly remote: IpEndpoint;
  /** Whether the association is a client's: the destinations of its datagrams are the peers. */
  readonly isClient: boolean;
  readonly peers = new KnownPeers();
  /** The link of the association, which receives its events. */
  owner: Pick<UdpFlowLink, 'onEvent' | 'close'> | undefined;
  /** Time at which the last datagram was sent or received, in milliseconds. */
  activeAt: number;
  /** Milliseconds without datagrams after which the association ends; Infinity for never. */
  idle: number;
  isClosed = false;
  /** The stage of the association, which determines the order of eviction at the limit of flows. */
  stage: Stage = Stage.unanswered;
  /** The source of the last datagram sent to the client. */
  lastSender: IpEndpoint | undefined;
  /** Number of datagrams that were dropped in either direction. */
  dropped = 0;
  readonly #shared: QueuedDatagrams;
  readonly #queue = new Fifo<Packet>();
  #queuedBytes = 0;
  // Pending events.
  #isOpened: boolean;
  #isReadable = false;
  #isExpired = false;

  // Fields of the queue, the table and the wheel.
  isEventful = false;
  /** The kind of request that the flow is, until its first event is taken. */
  request: RequestKind | undefined = undefined;
  hash = 0;
  nextKeyed: Keyed | undefined = undefined;
  slot = -1;
  tick = 0;
  nextTimed: Timed | undefined = undefined;
  previousTimed: Timed | undefined = undefined;

  constructor(
    local: IpEndpoint,
    remote: IpEndpoint,
    isClient: boolean,
    idle: number,
    queued: QueuedDatagrams,
    now: number,
  ) {
    this.local = copyEndpoint(local);
    this.remote = copyEndpoint(remote);
    this.isClient = isClient;
    this.idle = idle;
    this.#shared = queued;
    this.activeAt = now;
    this.#isOpened = isClient;
  }

  nextEvent(): UdpEvent | undefined {
    if (this.#isOpened) {
      this.#isOpened = false;
      return 'opened';
    }
    if (this.#isReadable) {
      this.#isReadable = false;
      return 'readable';
    }
    if (!this.#isExpired) return undefined;
    this.#isExpired = false;
    return 'expired';
  }

  /** Queues a received datagram. @returns false when it was dropped because the queue is full. */
  push(packet: Packet): boolean {
    const cost = costOf(packet);
    const after = this.#queuedBytes + cost;
    const isFull =
      this.#queue.size >= MAX_QUEUED_DATAGRAMS ||
      after > MAX_QUEUED_BYTES ||
      (after > LEAST_QUEUED_BYTES && this.#shared.bytes + cost > MAX_ALL_QUEUED_BYTES);
    if (isFull) {
      this.dropped++;
      return false;
    }
    if (this.#queue.size === 0) this.#isReadable = true;
    this.#count(cost);
    this.#queue.push(packet);
    return true;
  }

  /** Removes and returns the next datagram; `undefined` when there is none. */
  take(): Packet | undefined {
    const packet = this.#queue.shift();
    if (packet !== undefined) this.#count(-costOf(packet));
    return packet;
  }

  /** Whether the queue should be emptied soon: one merged packet could fill the rest. */
  get isCrowded(): boolean {
    return this.#queue.size * 2 >= MAX_QUEUED_DATAGRAMS;
  }

  /** Time at which the association expires without another datagram. */
  get deadline(): number {
    return this.activeAt + this.idle;
  }

  expire(): void {
    this.#isExpired = true;
  }

  /** Ends the association, which was evicted for another flow: only an owner gets an event. */
  onEvicted(): void {
    this.#isOpened = this.#isReadable = false;
    this.#isExpired = this.owner !== undefined;
  }

  /** Drops all queued datagrams. */
  clear(): void {
    this.#queue.clear();
    this.#count(-this.#queuedBytes);
  }

  #count(bytes: number): void {
    this.#queuedBytes += bytes;
    this.#shared.bytes += bytes;
  }
}

const costOf = ({ data }: Packet): number => data.length + DATAGRAM_OVERHEAD;

/** The stack of a link, as seen by the link. */
export interface UdpHost {
  /** Sends a datagram, and schedules its turn: see `UdpFlows.send`. */
  sendDatagram(flow: UdpFlow, data: Uint8Array, peer: IpEndpoint): boolean;
  /** Reports to the client of an association that `peer` is unreachable. */
  refuseDatagrams(flow: UdpFlow, peer: IpEndpoint, reason: Unreachable): void;
  closeAssociation(flow: UdpFlow): void;
}

/** A UDP association as a PacketLink. Received datagrams stay in the association's queue until they are taken. */
export class UdpFlowLink extends ReceivingPackets implements PacketLink {
  readonly closed: Promise<Error | undefined>;
  readonly #host: UdpHost;
  readonly #flow: UdpFlow;
  readonly #resolveClosed: (cause: Error | undefined) => void;
  #isClosed = false;

  constructor(host: UdpHost, flow: UdpFlow) {
    super();
    this.#host = host;
    this.#flow = flow;
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
    flow.owner = this;
  }

  get dropped(): number {
    return this.#flow.dropped;
  }

  send({ data, peer }: Packet): void {
    const flow = this.#flow;
    const numbers = flow.peers.numbers(peer);
    if (numbers === undefined || !this.#host.sendDatagram(flow, data, numbers)) flow.dropped++;
  }

  refuse(peer: Endpoint, reason: Unreachable): void {
    const flow = this.#flow;
    const numbers = flow.peers.numbers(peer);
    if (numbers === undefined || this.#isClosed || !flow.isClient) return;
    this.#host.refuseDatagrams(flow, numbers, reason);
  }

  close(cause?: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#host.closeAssociation(this.#flow);
    this.endReceiving(cause);
    this.#resolveClosed(cause);
  }

  onEvent(event: UdpEvent): void {
    switch (event) {
      case 'opened':
        break;
      case 'readable':
        this.passWaiting();
        break;
      case 'expired':
        this.close();
        break;
      default:
        event satisfies never;
    }
  }

  protected override shift(): Packet | undefined {
    return this.#flow.take();
  }
}
