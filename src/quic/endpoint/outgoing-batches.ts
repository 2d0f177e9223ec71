import type { DatagramSocket } from '../../ip/datagram-socket.ts';
import { MAX_BATCH_BYTES, MAX_BATCH_DATAGRAMS } from '../limits.ts';
import type { PacketObfuscation } from './obfuscation.ts';
import { TransmitBatch } from './transmit-batch.ts';
import { BATCHED_BYTES, MAX_BATCHES } from './limits.ts';

/** The sender of a batch. */
export interface BatchOwner {
  /** The socket refused a datagram as too large. @param bytes its size without obfuscation. */
  onTooLarge(bytes: number): void;
}

/**
 * Collects and obfuscates batches, and sends them with few system calls. At most `MAX_BATCHES` buffers exist,
 * and they are reused.
 */
export class OutgoingBatches {
  readonly #socket: DatagramSocket;
  readonly #obfuscation: PacketObfuscation | undefined;
  /** The batch that connections fill, if datagrams are obfuscated. */
  readonly #plain: TransmitBatch | undefined;
  readonly #free: TransmitBatch[] = [];
  readonly #pending: TransmitBatch[] = [];
  readonly #owners: (BatchOwner | undefined)[] = [];
  #current: TransmitBatch | undefined;
  #bytes = 0;
  /** Bytes of the first pending batch that were sent. */
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

  /** Whether the send buffer is full: nothing may be pushed until `onWritable`. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** The batch to fill next; `push` sends it. Not while the socket is blocked. */
  next(): TransmitBatch {
    return this.#plain ?? this.#slot();
  }

  /** Queues the batch that `next` returned. Returns its bytes on the wire, obfuscation included. */
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

  /** Sends the pending batches, as far as the socket has room. */
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
    // The result names only the first batch; the MTU search learns of others by their loss.
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

  /** The buffer that is pushed next. There always is one: `push` sends all when the last is used. */
  #slot(): TransmitBatch {
    if (this.#current) return this.#current;
    this.#current = this.#free.pop() ?? new TransmitBatch();
    return this.#current;
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
