import {
  assignEndpoint,
  blankEndpoint,
  type DatagramSocket,
  type Ecn,
  type IpEndpoint,
  type Transmit,
} from '@weir/base/ip';

/** Bytes of one batch, which is one system call: the most that UDP carries with its header. */
export const MAX_BATCH_BYTES = 65_507;
/** Datagrams of one batch: the most that Linux accepts with UDP_SEGMENT. */
export const MAX_BATCH_DATAGRAMS = 64;

/** The sender of a batch, which receives what the socket reports about it. */
export interface BatchOwner {
  /** Called when a datagram of this size, in bytes, exceeds the path MTU. */
  onTooLarge(bytes: number): void;
}

/**
 * Datagrams for one send: of one path, one after the other, all of one size but the last, which may be shorter. Batches
 * are reused.
 */
export class TransmitBatch implements Transmit {
  readonly buffer: Uint8Array;
  readonly offset = 0;
  length = 0;
  /** Bytes of each datagram but the last; 0 for a single one. */
  segmentSize = 0;
  ecn: Ecn = 0;
  owner: BatchOwner | undefined;
  readonly #destination = blankEndpoint();
  readonly #source = blankEndpoint();
  #hasSource = false;

  constructor(bytes: number = MAX_BATCH_BYTES) {
    this.buffer = Buffer.allocUnsafeSlow(bytes);
  }

  get destination(): IpEndpoint {
    return this.#destination;
  }

  get source(): IpEndpoint | undefined {
    return this.#hasSource ? this.#source : undefined;
  }

  /** Starts an empty batch for a path. */
  begin(destination: IpEndpoint, source: IpEndpoint | undefined): void {
    this.length = 0;
    this.segmentSize = 0;
    this.ecn = 0;
    assignEndpoint(this.#destination, destination);
    this.#hasSource = source !== undefined;
    if (source !== undefined) assignEndpoint(this.#source, source);
  }
}

/** Batches that may be queued for the socket. */
export const MAX_BATCHES = 16;
/** Total bytes of batches at which they are sent before the end of the turn. */
export const BATCHED_BYTES = 128 * 1024;

/**
 * Batches queued for a socket: they are collected, and sent with few system calls. Their buffers are reused; at most
 * one more than `MAX_BATCHES` exists.
 */
export class TransmitQueue {
  readonly #socket: DatagramSocket;
  readonly #overhead: number;
  readonly #free: TransmitBatch[] = [];
  readonly #pending: TransmitBatch[] = [];
  #current: TransmitBatch | undefined;
  #bytes = 0;
  /** Bytes of the first pending batch that the socket has accepted. */
  #sentBytes = 0;
  #isBlocked = false;

  /** @param overhead bytes of each datagram that its sender does not count. */
  constructor(socket: DatagramSocket, overhead = 0) {
    this.#socket = socket;
    this.#overhead = overhead;
  }

  /** Whether the socket is full: nothing is sent until `unblock`. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** Whether `MAX_BATCHES` are queued: nothing may be pushed then. */
  get isFull(): boolean {
    return this.#pending.length >= MAX_BATCHES;
  }

  /** Total bytes of the queued batches. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The batch to fill next, empty at first; it stays the same until `push`. */
  get current(): TransmitBatch {
    return (this.#current ??= this.#free.pop() ?? new TransmitBatch());
  }

  /** Queues the current batch. All are sent when there are enough. */
  push(): void {
    const batch = this.current;
    this.#current = undefined;
    this.#pending.push(batch);
    this.#bytes += batch.length;
    if (this.isFull || this.#bytes >= BATCHED_BYTES) this.flush();
  }

  /** Resumes sending: there is room in the socket again. */
  unblock(): void {
    this.#isBlocked = false;
  }

  /** Sends the queued batches, as far as the socket accepts them. */
  flush(): void {
    const count = this.#pending.length;
    if (this.#isBlocked || count === 0) return;
    // If the send throws, all batches are lost, as on a network: they are not sent again.
    let done = count;
    let left = 0;
    try {
      const result = this.#socket.send(this.#pending, count, this.#sentBytes);
      this.#isBlocked = result.full;
      done = result.done;
      left = result.sentBytes;
      // The result names the first datagram that is too large; the others are detected by their loss.
      if (result.tooLarge > 0) this.#reportTooLarge(result.firstTooLarge);
    } finally {
      this.#sentBytes = left;
      this.#release(done);
    }
  }

  #reportTooLarge(index: number): void {
    const batch = this.#pending[index];
    if (batch?.owner === undefined) return;
    const size = batch.segmentSize === 0 ? batch.length : batch.segmentSize;
    batch.owner.onTooLarge(size - this.#overhead);
  }

  /** Releases the first `done` batches, which were sent or dropped. */
  #release(done: number): void {
    for (let i = 0; i < done; i++) {
      const batch = this.#pending[i] as TransmitBatch; // `done` is at most their number
      this.#bytes -= batch.length;
      batch.length = 0;
      batch.owner = undefined;
      this.#free.push(batch);
    }
    if (done === this.#pending.length) this.#pending.length = 0;
    else this.#pending.splice(0, done);
  }
}
