import type { DatagramSocket } from '../../ip/datagram-socket.ts';
import { MAX_BATCH_BYTES, MAX_BATCH_DATAGRAMS } from '../limits.ts';
import type { PacketObfuscation } from './obfuscation.ts';
import { TransmitBatch } from './transmit-batch.ts';
import { BATCHED_BYTES, MAX_BATCHES } from './limits.ts';

/** The sender of a batch: gets what the socket reports about it. */
export interface BatchOwner {
  /** The path does not take a datagram of so many bytes, obfuscation not included. */
  onTooLarge(bytes: number): void;
}

/**
 * Batches on their way to the socket: they are collected, obfuscated, and sent with few calls of the
 * system. At most `MAX_BATCHES` buffers exist, and they are used again.
 */
export class OutgoingBatches {
  readonly #socket: DatagramSocket;
  readonly #obfuscation: PacketObfuscation | undefined;
  /** What connections fill when it is not sent as it is. */
  readonly #plain: TransmitBatch | undefined;
  readonly #free: TransmitBatch[] = [];
  readonly #pending: TransmitBatch[] = [];
  readonly #owners: (BatchOwner | undefined)[] = [];
  #current: TransmitBatch | undefined;
  #bytes = 0;
  /** Bytes of the first pending batch that the socket has taken. */
  #sentBytes = 0;
  #isBlocked = false;

  constructor(socket: DatagramSocket, obfuscation: PacketObfuscation | undefined) {
    this.#socket = socket;
    this.#obfuscation = obfuscation;
    if (obfuscation) {
      const room = MAX_BATCH_BYTES - MAX_BATCH_DATAGRAMS * obfuscation.overhead;
      this.#plain = new TransmitBatch(room);
    }
  }

  /** Whether the socket had no room: nothing is taken until `onWritable`. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** The batch to fill next; `push` sends it. Not while the socket is blocked. */
  next(): TransmitBatch {
    return this.#plain ?? this.#slot();
  }

  /** Takes the batch that `next` returned. Returns the bytes on the wire, obfuscation included. */
  push(owner: BatchOwner | undefined): number {
    const slot = this.#slot();
    this.#current = undefined;
    if (this.#plain && this.#obfuscation) seal(this.#plain, slot, this.#obfuscation);
    this.#pending.push(slot);
    this.#owners.push(owner);
    this.#bytes += slot.length;
    if (this.#pending.length === MAX_BATCHES || this.#bytes >= BATCHED_BYTES) this.flush();
    return slot.length;
  }

  /** There is room in the socket again. */
  onWritable(): void {
    this.#isBlocked = false;
    this.flush();
  }

  /** Sends what was pushed, as far as the socket takes it. */
  flush(): void {
    if (this.#isBlocked || this.#pending.length === 0) return;
    const count = this.#pending.length;
    const { done, sentBytes, full, tooLarge, firstTooLarge } = this.#socket.send(
      this.#pending,
      count,
      this.#sentBytes,
    );
    this.#isBlocked = full;
    this.#sentBytes = sentBytes;
    // The result says which one was the first; the others are found by their loss.
    const victim = tooLarge > 0 ? this.#pending[firstTooLarge] : undefined;
    if (victim !== undefined) {
      const size = victim.segmentSize === 0 ? victim.length : victim.segmentSize;
      const overhead = this.#obfuscation?.overhead ?? 0;
      this.#owners[firstTooLarge]?.onTooLarge(size - overhead);
    }
    for (let i = 0; i < done; i++) {
      const batch = this.#pending[i] as TransmitBatch; // there were `count`
      this.#bytes -= batch.length;
      this.#free.push(batch);
    }
    if (done === count) {
      this.#pending.length = 0;
      this.#owners.length = 0;
    } else {
      this.#pending.splice(0, done);
      this.#owners.splice(0, done);
    }
  }

  /** The buffer that is pushed next. There is one: when the last is taken, `push` sends them all. */
  #slot(): TransmitBatch {
    if (this.#current) return this.#current;
    this.#current = this.#free.pop() ?? new TransmitBatch();
    return this.#current;
  }
}

/** Obfuscates each datagram of a batch into another one, where they are that much longer. */
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
