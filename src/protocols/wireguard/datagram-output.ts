import type { DatagramSocket } from '../../ip/datagram-socket.ts';
import { isSameEndpoint, type IpEndpoint } from '../../ip/ip-endpoint.ts';
import { MAX_BATCH_DATAGRAMS } from '../../net/sockets/transmit-batch.ts';
import { BATCHED_BYTES, TransmitQueue } from '../../net/sockets/transmit-queue.ts';
import type { TunnelOutput } from './contract.ts';

/**
 * Writes datagrams one after the other into batches, so that those of one size leave with one system call
 * (GSO).
 */
export class DatagramOutput implements TunnelOutput {
  readonly #queue: TransmitQueue;
  /** Number of datagrams in the current batch. */
  #count = 0;

  constructor(socket: DatagramSocket) {
    this.#queue = new TransmitQueue(socket);
  }

  get buffer(): Uint8Array {
    return this.#queue.current.buffer;
  }

  reserve(bytes: number): number {
    const queue = this.#queue;
    const { length, segmentSize, buffer } = queue.current;
    if (length > 0) {
      // The first datagram sets the size of a batch; only the last one may be shorter.
      const isComplete = length % segmentSize !== 0 || this.#count === MAX_BATCH_DATAGRAMS;
      if (isComplete || bytes > segmentSize || length + bytes > buffer.length) queue.push();
    }
    if (queue.isFull || bytes > buffer.length) return -1;
    return queue.current.length;
  }

  commit(length: number, destination: IpEndpoint): void {
    const queue = this.#queue;
    let batch = queue.current;
    if (batch.length > 0 && !isSameEndpoint(destination, batch.destination)) {
      const datagram = batch.buffer.subarray(batch.length, batch.length + length);
      queue.push();
      batch = queue.current;
      batch.buffer.set(datagram);
    }
    if (batch.length === 0) {
      batch.begin(destination, undefined);
      batch.segmentSize = length;
      this.#count = 0;
    }
    batch.length += length;
    this.#count++;
    // While nothing can be sent, a full batch is better than many small ones.
    if (!queue.isBlocked && queue.bytes + batch.length >= BATCHED_BYTES) queue.push();
  }

  /** Called when there is room in the socket again. */
  onWritable(): void {
    this.#queue.unblock();
    this.flush();
  }

  /** Sends the committed datagrams, as far as the socket accepts them. */
  flush(): void {
    const queue = this.#queue;
    if (queue.isBlocked) return;
    if (queue.current.length > 0) queue.push();
    queue.flush();
  }
}
