import type { WireCounter } from '../../net/link.ts';

/** Told of what one tunnel moves itself, in bytes, when it moves it. */
export interface TunnelMeter {
  addReceived(bytes: number): void;
  addSent(bytes: number): void;
}

/**
 * Splits the wire bytes of a connection among the tunnels on it: each has its own bytes, and of what
 * the connection moved besides (frame headers, TLS, settings) a share by how much it moved since
 * the last time anyone looked. So the counters of all tunnels add up to those of the socket, as far
 * as there was a tunnel to bear them and but for the fraction of a byte that each has still to come,
 * and none of them ever falls.
 *
 * Nothing here goes through the tunnels: a connection may have thousands, which all end at once.
 */
export class WireShare {
  readonly #wire: WireCounter;
  readonly #read = new Direction();
  readonly #written = new Direction();

  constructor(wire: WireCounter) {
    this.#wire = wire;
  }

  /** Adds a tunnel; its counter stands still once `leave` was called. */
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

  /** What is moved after the tunnel has left is for the others to bear. */
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

/** The time between two distributions of overhead. */
interface Epoch {
  /** What the tunnels moved in it. */
  moved: number;
  /** What they have to bear for it; known when it is over. */
  overhead: number | undefined;
}

/** What a connection moved one way. */
class Direction {
  epoch: Epoch = { moved: 0, overhead: undefined };
  /** The bytes that tunnels moved, and those that they were given besides. */
  #accounted = 0;

  add(bytes: number): void {
    this.#accounted += bytes;
    this.epoch.moved += bytes;
  }

  /** Ends the epoch when there is overhead, and somebody to bear it. */
  settle(total: number): void {
    const overhead = total - this.#accounted;
    // Below zero: payload that was written and is not on the wire yet.
    if (overhead <= 0 || this.epoch.moved <= 0) return;
    this.epoch.overhead = overhead;
    this.#accounted += overhead;
    this.epoch = { moved: 0, overhead: undefined };
  }
}

/** What one tunnel has to answer for, one way. It takes its share of an epoch when it is looked at. */
class Account {
  readonly #direction: Direction;
  #epoch: Epoch;
  /** What it moved in that epoch. */
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

  /** What it moved in an epoch that goes on does not count for its overhead. */
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
