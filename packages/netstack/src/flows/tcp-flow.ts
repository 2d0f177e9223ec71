import type { RandomSource } from '@weir/base/random';
import { copyEndpoint, type IpEndpoint } from '@weir/base/ip';
import type { RequestKind } from './request-kind.ts';
import { FlowTable, type Keyed } from './flow-table.ts';
import type { TcpConnection } from '../tcp/connection.ts';
import type { TcpEvent } from '../tcp/state.ts';
import { AgedSet } from '@weir/base/collections';
import type { Timed } from '@weir/base/timers';
import { MAX_TIME_WAIT } from '../limits.ts';
import type { TimeWait } from '../tcp/time-wait.ts';

/** The user of a connection, which receives its events. */
export interface TcpOwner {
  onEvent(event: TcpEvent): void;
  /** Releases the connection, and resolves when no data remains to be sent. Never rejects. */
  leave(): Promise<void>;
  /** Called when the stack was closed. Idempotent. */
  fail(error: Error): void;
}

/**
 * A TCP connection with its place in the stack. The application calls methods of `connection`, each followed by
 * `touch` of `TcpFlows`.
 */
export class TcpFlow implements Keyed, Timed {
  readonly network = 'tcp';
  /** The local endpoint; for an accepted connection the destination that the client has requested. */
  readonly local: IpEndpoint;
  readonly remote: IpEndpoint;
  readonly connection: TcpConnection;
  owner: TcpOwner | undefined;
  /** The packet with the SYN, until the request is decided: an ICMP message quotes it. */
  syn: Uint8Array | undefined;

  /** Bytes that the connection held when `FlowMemory` last counted them. */
  held = 0;
  /** The version of the path MTUs of `TcpFlows` that the connection uses. */
  pathVersion = 0;
  /** Whether the connection has left the stack; received data may still be read. */
  isForgotten = false;

  // Fields of the queues, the table and the wheel.
  isEventful = false;
  /** The kind of request that the flow is, until its first event is taken. */
  request: RequestKind | undefined = undefined;
  isReady = false;
  hash = 0;
  nextKeyed: Keyed | undefined = undefined;
  slot = -1;
  tick = 0;
  nextTimed: Timed | undefined = undefined;
  previousTimed: Timed | undefined = undefined;

  constructor(local: IpEndpoint, remote: IpEndpoint, connection: TcpConnection) {
    this.local = copyEndpoint(local);
    this.remote = copyEndpoint(remote);
    this.connection = connection;
  }
}

/** The memory of all connections of a stack: unread and unacknowledged data. */
export class FlowMemory {
  readonly #limit: number;
  /** Number of bytes that all connections hold. */
  held = 0;

  /** @param limit the bound in bytes: see `MAX_BUFFERED_BYTES`. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether there is memory for larger buffers. */
  get mayGrow(): boolean {
    return this.held * 2 < this.#limit;
  }

  /** Whether all of the memory is in use. */
  get isShort(): boolean {
    return this.held >= this.#limit;
  }

  /** Sets the number of bytes that a connection now holds. */
  account(flow: TcpFlow, held: number): void {
    this.held += held - flow.held;
    flow.held = held;
  }
}

/** A connection in TIME-WAIT: its endpoints, and the state that responds to segments. */
export class TimeWaitFlow implements Keyed {
  readonly local: IpEndpoint;
  readonly remote: IpEndpoint;
  readonly timeWait: TimeWait;
  hash = 0;
  nextKeyed: Keyed | undefined = undefined;

  constructor(local: IpEndpoint, remote: IpEndpoint, timeWait: TimeWait) {
    this.local = copyEndpoint(local);
    this.remote = copyEndpoint(remote);
    this.timeWait = timeWait;
  }
}

/**
 * The connections in TIME-WAIT, found by their endpoints. All wait for the same time, so that a list in the order of
 * arrival is in the order of expiry. At `MAX_TIME_WAIT` the oldest is removed early.
 */
export class TimeWaitFlows {
  readonly #table: FlowTable<TimeWaitFlow>;
  /** Connections in the order in which they expire. */
  readonly #waiting = new AgedSet<TimeWaitFlow>();

  constructor(random: RandomSource) {
    this.#table = new FlowTable(random);
  }

  get size(): number {
    return this.#waiting.size;
  }

  find(local: IpEndpoint, remote: IpEndpoint): TimeWaitFlow | undefined {
    return this.#table.find(local, remote);
  }

  add(flow: TimeWaitFlow): void {
    if (this.#waiting.size >= MAX_TIME_WAIT) {
      const { oldest } = this.#waiting;
      if (oldest !== undefined) this.remove(oldest);
    }
    this.#table.add(flow);
    this.#waiting.add(flow);
  }

  /** Restarts the wait of a connection. */
  restart(flow: TimeWaitFlow): void {
    if (this.#waiting.delete(flow)) this.#waiting.add(flow);
  }

  remove(flow: TimeWaitFlow): void {
    if (this.#waiting.delete(flow)) this.#table.remove(flow);
  }

  /** Returns the time at which `onTimeout` is due, in milliseconds; Infinity for never. */
  nextTimeout(): number {
    return this.#waiting.oldest?.timeWait.expiresAt ?? Infinity;
  }

  onTimeout(now: number): void {
    for (let flow = this.#waiting.oldest; flow; flow = this.#waiting.oldest) {
      if (flow.timeWait.expiresAt > now) return;
      this.remove(flow);
    }
  }
}
