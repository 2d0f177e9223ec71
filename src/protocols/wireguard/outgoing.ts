import type { DatagramSocket } from '../../ip/datagram-socket.ts';
import { isSameEndpoint, type IpEndpoint } from '../../ip/ip-endpoint.ts';
import { TransmitBatch } from '../../quic/endpoint/transmit-batch.ts';
import { BATCHED_BYTES, MAX_BATCH_DATAGRAMS, MAX_BATCHES } from './limits.ts';
import type { TunnelOutput } from './tunnel.ts';

/**
 * Datagrams on their way to the socket. They are written one behind the other, so that those of one size
 * leave with one call of the system (GSO). At most `MAX_BATCHES` buffers exist, and they are used again.
 */
export class Outgoing implements TunnelOutput {
  readonly #socket: DatagramSocket;
  readonly #free: TransmitBatch[] = [];
  readonly #pending: TransmitBatch[] = [];
  /** Takes the next datagram. It belongs to none of the lists. */
  #current = new TransmitBatch();
  #count = 0;
  #bytes = 0;
  /** Bytes of the first pending batch that the socket has taken. */
  #sentBytes = 0;
  #isBlocked = false;

  constructor(socket: DatagramSocket) {
    this.#socket = socket;
  }

  get buffer(): Uint8Array {
    return this.#current.buffer;
  }

  reserve(bytes: number): number {
    const batch = this.#current;
    const { length, segmentSize, buffer } = batch;
    if (length > 0) {
      // The first datagram of a batch has its size, which only the last one may fall below.
      const isWhole = length % segmentSize !== 0 || this.#count === MAX_BATCH_DATAGRAMS;
      if (isWhole || bytes > segmentSize || length + bytes > buffer.length) this.#push();
    }
    // The batch would have no place among the pending ones.
    if (this.#pending.length >= MAX_BATCHES) this.flush();
    if (this.#pending.length >= MAX_BATCHES || bytes > buffer.length) return -1;
    return this.#current.length;
  }

  commit(length: number, destination: IpEndpoint): void {
    const at = this.#current.length;
    if (at > 0 && !isSameEndpoint(destination, this.#current.destination)) {
      const datagram = this.#current.buffer.subarray(at, at + length);
      this.#push();
      this.#current.buffer.set(datagram);
    }
    const batch = this.#current;
    if (batch.length === 0) {
      batch.begin(destination, undefined);
      batch.segmentSize = length;
      this.#count = 0;
    }
    batch.length += length;
    this.#count++;
    // While nothing can be sent, batches are better filled.
    if (this.#isBlocked || this.#bytes + batch.length < BATCHED_BYTES) return;
    this.#push();
    this.#send();
  }

  /** There is room in the socket again. */
  onWritable(): void {
    this.#isBlocked = false;
    this.flush();
  }

  /** Sends what was committed, as far as the socket takes it. */
  flush(): void {
    if (this.#current.length > 0) this.#push();
    this.#send();
  }

  /** The current batch is complete. */
  #push(): void {
    this.#bytes += this.#current.length;
    this.#pending.push(this.#current);
    const next = this.#free.pop() ?? new TransmitBatch();
    next.length = 0;
    this.#current = next;
  }

  #send(): void {
    const count = this.#pending.length;
    if (this.#isBlocked || count === 0) return;
    // A send that throws has lost all of them, as a path may: what is old is not sent again.
    let done = count;
    let left = 0;
    try {
      const result = this.#socket.send(this.#pending, count, this.#sentBytes);
      this.#isBlocked = result.full;
      done = result.done;
      left = result.sentBytes;
    } finally {
      this.#sentBytes = left;
      this.#release(done);
    }
  }

  /** The first batches are done with. */
  #release(done: number): void {
    for (let i = 0; i < done; i++) {
      const batch = this.#pending[i] as TransmitBatch; // no more are done with
      this.#bytes -= batch.length;
      this.#free.push(batch);
    }
    if (done === this.#pending.length) this.#pending.length = 0;
    else this.#pending.splice(0, done);
  }
}
