import { copyEndpoint, type IpEndpoint } from '../../ip/ip-endpoint.ts';
import { Stage, type Ordered } from '../../net/bounds/association-order.ts';
import type { Packet } from '../../net/links/link.ts';
import { Fifo } from '../../collections/fifo.ts';
import type { Keyed } from './flow-table.ts';
import { KnownPeers } from '../ip/known-peers.ts';
import {
  DATAGRAM_OVERHEAD,
  LEAST_QUEUED_BYTES,
  MAX_ALL_QUEUED_BYTES,
  MAX_QUEUED_BYTES,
  MAX_QUEUED_DATAGRAMS,
} from '../limits.ts';
import type { Timed } from '../../collections/timer-wheel.ts';

/** What happened to an association. */
export type UdpEvent =
  /** A client's first datagram made it. */
  | 'opened'
  /** `take` returns something after it had returned nothing. */
  | 'readable'
  /** It was idle for too long: the last event. */
  | 'expired';

/** What waits in the queues of all associations. */
export interface QueuedDatagrams {
  bytes: number;
}

/** What an association is for: gets its events. */
export interface UdpOwner {
  onEvent(event: UdpEvent): void;
  /** The stack has ended. Idempotent. */
  close(cause?: Error): void;
}

/**
 * The datagrams of one client, by its address and port, to and from any peer (a full cone, RFC 4787); or
 * those of an own port.
 */
export class UdpFlow implements Keyed, Timed, Ordered {
  readonly network = 'udp';
  /** Either `local` is a port of this stack, or `remote` is a client: the other one is the wildcard. */
  readonly local: IpEndpoint;
  readonly remote: IpEndpoint;
  /** Whether it is a client's, so that its peers are the destinations of what is received. */
  readonly isClient: boolean;
  readonly peers = new KnownPeers();
  owner: UdpOwner | undefined;
  /** When a datagram passed last, in milliseconds. */
  activeAt: number;
  /** Milliseconds without datagrams after which it ends; Infinity for never. */
  idle: number;
  isClosed = false;
  /** How far it has come, which decides what gives way where there is no room. */
  stage: Stage = Stage.unanswered;
  /** The peer that its client was sent the last datagram from. */
  lastSender: IpEndpoint | undefined;
  /** Datagrams that were not delivered, or not sent. */
  dropped = 0;
  readonly #shared: QueuedDatagrams;
  readonly #queue = new Fifo<Packet>();
  #queuedBytes = 0;
  /** Events that were not taken, each once. */
  #isOpened: boolean;
  #isReadable = false;
  #isExpired = false;

  // Its places in the queue, the table and the wheel; theirs alone.
  isEventful = false;
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

  /** A datagram came. @returns false when it was dropped because the queue is full. */
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

  /** The next datagram, or undefined when there is none. */
  take(): Packet | undefined {
    const packet = this.#queue.shift();
    if (packet !== undefined) this.#count(-costOf(packet));
    return packet;
  }

  /** Whether what waits should be taken soon: a merged packet may fill the rest of the queue. */
  get isCrowded(): boolean {
    return this.#queue.size * 2 >= MAX_QUEUED_DATAGRAMS;
  }

  /** When it ends, unless there is another datagram. */
  get deadline(): number {
    return this.activeAt + this.idle;
  }

  expire(): void {
    this.#isExpired = true;
  }

  /** It has ended in favour of another flow. An owner hears of it; without one there is nothing to end. */
  giveWay(): void {
    this.#isOpened = this.#isReadable = false;
    this.#isExpired = this.owner !== undefined;
  }

  /** Drops what waits. */
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
