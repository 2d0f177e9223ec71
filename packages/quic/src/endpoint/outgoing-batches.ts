import type { DatagramSocket } from '@weir/base/ip';
import {
  MAX_BATCH_BYTES,
  MAX_BATCH_DATAGRAMS,
  TransmitBatch,
  type BatchOwner,
  TransmitQueue,
} from '@weir/io/datagrams';

/**
 * Transforms UDP payloads so that they do not look like QUIC. It is applied to every datagram of an endpoint,
 * in both directions.
 */
export interface PacketObfuscation {
  /** Bytes that obfuscation adds to each datagram; they are subtracted from the MTU of QUIC. */
  readonly overhead: number;
  /** Writes the obfuscated `datagram` into `out` from `at` on, and returns its length. The two do not overlap. */
  seal(datagram: Uint8Array, out: Uint8Array, at: number): number;
  /**
   * Recovers the payload, in the memory of the argument, which is changed in place; `undefined` when it cannot be a
   * datagram of this obfuscation.
   */
  open(datagram: Uint8Array): Uint8Array | undefined;
}

/** Batches of all connections queued for the socket, obfuscated if configured. */
export class OutgoingBatches {
  readonly #queue: TransmitQueue;
  readonly #obfuscation: PacketObfuscation | undefined;
  /**
   * The batch that connections fill, before it is obfuscated into a batch of the queue; `undefined` without
   * obfuscation, when connections fill that.
   */
  readonly #plain: TransmitBatch | undefined;

  constructor(socket: DatagramSocket, obfuscation: PacketObfuscation | undefined) {
    this.#queue = new TransmitQueue(socket, obfuscation?.overhead);
    this.#obfuscation = obfuscation;
    if (obfuscation) {
      const room = MAX_BATCH_BYTES - MAX_BATCH_DATAGRAMS * obfuscation.overhead;
      this.#plain = new TransmitBatch(room);
    }
  }

  /** Whether the send buffer is full: nothing may be pushed until `onWritable`. */
  get isBlocked(): boolean {
    return this.#queue.isBlocked;
  }

  /** Returns the batch to fill next; `push` sends it. Not while the socket is blocked. */
  next(): TransmitBatch {
    return this.#plain ?? this.#queue.current;
  }

  /** Queues the batch that `next` returned. Returns its bytes on the wire, obfuscation included. */
  push(owner: BatchOwner | undefined): number {
    const batch = this.#queue.current;
    if (this.#plain && this.#obfuscation) seal(this.#plain, batch, this.#obfuscation);
    batch.owner = owner;
    const { length } = batch;
    this.#queue.push();
    return length;
  }

  /** Called when there is room in the socket again. */
  onWritable(): void {
    this.#queue.unblock();
    this.#queue.flush();
  }

  /** Sends the pending batches, as far as the socket has room. */
  flush(): void {
    this.#queue.flush();
  }
}

/** Obfuscates each datagram of a batch into another batch. */
function seal(from: TransmitBatch, to: TransmitBatch, obfuscation: PacketObfuscation): void {
  to.begin(from.destination, from.source);
  const size = from.segmentSize === 0 ? from.length : from.segmentSize;
  let at = 0;
  for (let start = 0; start < from.length; start += size) {
    const datagram = from.buffer.subarray(start, Math.min(start + size, from.length));
    at += obfuscation.seal(datagram, to.buffer, at);
  }
  to.length = at;
  to.segmentSize = from.segmentSize === 0 ? 0 : size + obfuscation.overhead;
  to.ecn = from.ecn;
}
