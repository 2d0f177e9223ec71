import type { Destination } from '@weir/io/addresses';
import type { ByteGate, WireCounter } from '@weir/io/links';
import type { ConnectionChain } from '@weir/io/net/own-listeners';
import type { AccountMeter } from '../limits/account-meter.ts';
import type { FlowUsage } from './usage.ts';

const SLOTS_PER_BLOCK = 1024;

/** Two totals of bytes, in shared memory. */
export class ByteCounter {
  readonly #cells: Float64Array<SharedArrayBuffer>;
  readonly #at: number;

  constructor(cells: Float64Array<SharedArrayBuffer>, at: number) {
    this.#cells = cells;
    this.#at = at;
  }

  get up(): number {
    return this.#cells[this.#at] ?? 0;
  }

  get down(): number {
    return this.#cells[this.#at + 1] ?? 0;
  }

  addUp(bytes: number): void {
    this.#cells[this.#at] = this.up + bytes;
  }

  addDown(bytes: number): void {
    this.#cells[this.#at + 1] = this.down + bytes;
  }

  reset(): void {
    this.#cells[this.#at] = 0;
    this.#cells[this.#at + 1] = 0;
  }
}

/**
 * Allocates counters in blocks of shared memory, so that a relay outside this thread can count the
 * bytes that it moves while the tracker reads them. Doubles hold whole numbers up to 2^53.
 */
export class CounterSlab {
  readonly #free: ByteCounter[] = [];

  take(): ByteCounter {
    if (this.#free.length === 0) this.#grow();
    const counter = this.#free.pop();
    if (!counter) throw new RangeError('a block of counters is never empty');
    counter.reset();
    return counter;
  }

  /** Returns a counter to the slab, for another flow. */
  release(counter: ByteCounter): void {
    this.#free.push(counter);
  }

  #grow(): void {
    const bytes = SLOTS_PER_BLOCK * 2 * Float64Array.BYTES_PER_ELEMENT;
    const cells = new Float64Array(new SharedArrayBuffer(bytes));
    for (let slot = SLOTS_PER_BLOCK - 1; slot >= 0; slot--) {
      this.#free.push(new ByteCounter(cells, slot * 2));
    }
  }
}

/** A flow as it is registered, after its dial and before its first byte. */
export interface FlowInfo {
  /** The session that carries the flow; `undefined` for a flow without one (of a TUN device). */
  readonly session: Session | undefined;
  readonly inbound: string;
  readonly user: string | undefined;
  /** The client's IP address. */
  readonly source: string | undefined;
  /** The destination as requested; for a UDP sub-link, that of the packet that opened it. */
  readonly destination: Destination;
  readonly sniffed: string | undefined;
  /** Tag of the outbound that carries the flow; with a balancer, of its member. */
  readonly outbound: string;
  readonly outboundVersion: number;
  /** Index of the rule that matched; `undefined` for the default route. */
  readonly rule: number | undefined;
  readonly routingEpoch: number;
  /** Whether the host program has chosen the outbound, so that `rule` says nothing. */
  readonly isChosen?: boolean | undefined;
  /** The client's account; `undefined` if there are no accounts. */
  readonly account?: FlowAccount | undefined;
}

/** The account of a flow. */
interface FlowAccount {
  /** Whether the account still exists. */
  readonly isValid: boolean;
  /** Name under which usage is counted and limited; `undefined` for an account without one. */
  readonly name?: string | undefined;
}

/** The tracker, as a flow uses it. */
export interface FlowRegistry {
  /** Unregisters a flow that has closed with its final counts; `counter` may be reused. */
  flowClosed(flow: Flow, counter: ByteCounter): void;
}

/** One stream or UDP sub-link, from its registration to its end. */
export class Flow {
  readonly id: number;
  readonly info: FlowInfo;
  /** Time at which the flow was registered, in milliseconds of the monotonic clock. */
  readonly startedAt: number;
  /** The entries that count the flow. */
  readonly usage: FlowUsage;
  readonly #kill: (cause?: Error) => void;
  readonly #registry: FlowRegistry;
  #counter: ByteCounter | undefined;
  #meter: AccountMeter<Flow> | undefined;
  #killed = false;
  #finalUp = 0;
  #finalDown = 0;

  constructor(
    id: number,
    info: FlowInfo,
    startedAt: number,
    counter: ByteCounter,
    usage: FlowUsage,
    kill: (cause?: Error) => void,
    registry: FlowRegistry,
  ) {
    this.id = id;
    this.info = info;
    this.startedAt = startedAt;
    this.#counter = counter;
    this.usage = usage;
    this.#kill = kill;
    this.#registry = registry;
  }

  /** Payload bytes to the destination; final after `close`. */
  get up(): number {
    return this.#counter?.up ?? this.#finalUp;
  }

  /** Payload bytes to the client; final after `close`. */
  get down(): number {
    return this.#counter?.down ?? this.#finalDown;
  }

  addUp(bytes: number): void {
    if (!this.#counter) return;
    this.#counter.addUp(bytes);
    if (this.#meter) this.#meter.addUp(bytes);
  }

  addDown(bytes: number): void {
    if (!this.#counter) return;
    this.#counter.addDown(bytes);
    if (this.#meter) this.#meter.addDown(bytes);
  }

  /** The limits of bytes from and to the client; `undefined` while its account has none. */
  get upGate(): ByteGate | undefined {
    return this.#meter?.upGate;
  }

  get downGate(): ByteGate | undefined {
    return this.#meter?.downGate;
  }

  /** Counts the flow for an account with limits from now on; `undefined` if its account has none any more. */
  meterBy(meter: AccountMeter<Flow> | undefined): void {
    if (meter === this.#meter || !this.#counter) return;
    this.#meter?.closed(this);
    this.#meter = meter;
    meter?.opened(this);
  }

  /** Whether an operator or a limit has killed the flow. */
  get killed(): boolean {
    return this.#killed;
  }

  /** Ends the flow, which stays registered until `close`. Returns false if it was killed before. */
  kill(): boolean {
    if (!this.markKilled()) return false;
    this.#kill();
    return true;
  }

  /** Marks the flow as killed, for `endKilled` to end it later. Returns false if it was killed before. */
  markKilled(): boolean {
    if (this.#killed || !this.#counter) return false;
    this.#killed = true;
    return true;
  }

  /**
   * Ends a flow that `markKilled` marked, unless it has closed meanwhile.
   * @param cause the request of an operator by default
   */
  endKilled(cause?: Error): void {
    if (this.#counter) this.#kill(cause);
  }

  /** Unregisters the flow and makes its counts final. Idempotent. */
  close(): void {
    const counter = this.#counter;
    if (!counter) return;
    this.#finalUp = counter.up;
    this.#finalDown = counter.down;
    this.#counter = undefined;
    this.#meter?.closed(this);
    this.#registry.flowClosed(this, counter);
  }
}

/** One accepted carrier while it is open. */
export interface Session {
  readonly id: number;
  readonly inbound: string;
  /** The client's current IP address, which may change; `undefined` on a unix socket. */
  readonly source: string | undefined;
  /** Label of the user, set by the first flow of the session. */
  readonly user: string | undefined;
  /** Time at which the carrier was accepted, in milliseconds of the monotonic clock. */
  readonly startedAt: number;
  /** The connection that this process opened itself to reach its own inbound, if any. */
  readonly chain?: ConnectionChain | undefined;
  /**
   * Whether no flow has begun on the session: the first flow of an accepted connection begins even when the process is
   * stopping. `undefined` if a session is one of several on a connection, or a connection has many flows.
   */
  isFresh?: boolean;
  /** Marks the client as authenticated; called for each request. `undefined` if this makes no difference. */
  authenticated?(): void;
  /** Adds a socket whose wire bytes count for the session, such as a UDP relay socket. */
  attach(wire: WireCounter): void;
}
