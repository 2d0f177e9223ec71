import type { WireCounter } from '@weir/io/links';

/** Counts the bytes that one tunnel moves. */
export interface TunnelMeter {
  addReceived(bytes: number): void;
  addSent(bytes: number): void;
}

/**
 * Splits the wire bytes of a connection among its tunnels: each counts its own bytes and a share of
 * the overhead (frame headers, TLS, SETTINGS), in proportion to what it moved since the last
 * distribution. The counters of all tunnels add up to those of the socket, except for overhead
 * without tunnels and a fraction of a byte each, and no counter ever decreases.
 *
 * Nothing here iterates over the tunnels: a connection may have thousands that all end at once.
 */
export class WireShare {
  readonly #wire: WireCounter;
  readonly #read = new Direction();
  readonly #written = new Direction();

  constructor(wire: WireCounter) {
    this.#wire = wire;
  }

  /** Adds a tunnel; its counter is final once `leave` is called. */
  join(): Share {
    return new Share(new Account(this.#read), new Account(this.#written), this.#settle);
  }

  readonly #settle = (): void => {
    this.#read.settle(this.#wire.bytesRead);
    this.#written.settle(this.#wire.bytesWritten);
  };
}

/** The share of one tunnel. */
export class Share implements WireCounter, TunnelMeter {
  readonly #read: Account;
  readonly #written: Account;
  readonly #settle: () => void;
  #left = false;

  constructor(read: Account, written: Account, settle: () => void) {
    this.#read = read;
    this.#written = written;
    this.#settle = settle;
  }

  get bytesRead(): number {
    if (!this.#left) this.#settle();
    return this.#read.bytes;
  }

  get bytesWritten(): number {
    if (!this.#left) this.#settle();
    return this.#written.bytes;
  }

  /** Counts received payload. Bytes after `leave` become overhead of the other tunnels. */
  addReceived(bytes: number): void {
    if (!this.#left) this.#read.add(bytes);
  }

  addSent(bytes: number): void {
    if (!this.#left) this.#written.add(bytes);
  }

  leave(): void {
    if (this.#left) return;
    this.#settle();
    this.#left = true;
    this.#read.leave();
    this.#written.leave();
  }
}

/** The period between two distributions of overhead. */
interface Epoch {
  /** Bytes that the tunnels moved during the epoch. */
  moved: number;
  /** The overhead to distribute in bytes; set at the end of the epoch. */
  overhead: number | undefined;
}

/** The bytes of a connection in one direction. */
class Direction {
  epoch: Epoch = { moved: 0, overhead: undefined };
  /** The bytes that tunnels moved, and the overhead distributed so far. */
  #accounted = 0;

  add(bytes: number): void {
    this.#accounted += bytes;
    this.epoch.moved += bytes;
  }

  /** Ends the epoch if there is overhead and a tunnel that moved bytes. */
  settle(total: number): void {
    const overhead = total - this.#accounted;
    // Negative if written payload has not been sent yet.
    if (overhead <= 0 || this.epoch.moved <= 0) return;
    this.epoch.overhead = overhead;
    this.#accounted += overhead;
    this.epoch = { moved: 0, overhead: undefined };
  }
}

/** The bytes of one tunnel in one direction. The share of an epoch is added when the count is read. */
class Account {
  readonly #direction: Direction;
  #epoch: Epoch;
  /** Bytes that the tunnel moved during that epoch. */
  #moved = 0;
  #own = 0;
  #overhead = 0;

  constructor(direction: Direction) {
    this.#direction = direction;
    this.#epoch = direction.epoch;
  }

  get bytes(): number {
    this.#collect();
    return this.#own + Math.floor(this.#overhead);
  }

  add(bytes: number): void {
    this.#collect();
    this.#moved += bytes;
    this.#own += bytes;
    this.#direction.add(bytes);
  }

  /** Stops counting: bytes moved in the current epoch get no share of its overhead. */
  leave(): void {
    this.#collect();
    this.#epoch.moved -= this.#moved;
    this.#moved = 0;
  }

  #collect(): void {
    const { moved, overhead } = this.#epoch;
    if (overhead === undefined) return;
    if (this.#moved > 0) this.#overhead += (overhead * this.#moved) / moved;
    this.#moved = 0;
    this.#epoch = this.#direction.epoch;
  }
}
