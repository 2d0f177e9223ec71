import { copyBytes } from '@weir/base/bytes';
import { Fifo } from '@weir/base/collections';
import { freeChunk } from '@weir/io/links';
import { CHUNK_OVERHEAD, FIRST_SEND_BUFFER, LEAST_BUFFER, MAX_SEND_BUFFER } from '../limits.ts';

interface Chunk {
  /** The chunk's offset in the stream. */
  readonly start: number;
  readonly bytes: Uint8Array;
  /** Whether nothing else refers to the memory, which is then freed on acknowledgement. */
  readonly isOwned: boolean;
}

/**
 * Data that the application has written and the peer has not acknowledged: the chunks as they were written,
 * by stream offset. Its limit grows with the congestion window, up to `MAX_SEND_BUFFER`.
 */
export class SendBuffer {
  readonly #chunks = new Fifo<Chunk>();
  #acknowledged = 0;
  /** The offset after the last byte written. */
  end = 0;
  limit = FIRST_SEND_BUFFER;
  #writerWaits = false;
  /** Index of the last chunk copied from, where the next copy usually starts. */
  #hint = 0;

  /** Number of bytes written and not acknowledged. */
  get size(): number {
    return this.end - this.#acknowledged;
  }

  /** `size` plus the overhead of the chunks. */
  get charge(): number {
    return this.size + this.#chunks.size * CHUNK_OVERHEAD;
  }

  /**
   * Appends a chunk, which the caller must not change afterwards. Returns whether more may be written now.
   * @param isShort whether memory is short (see `SharedMemory`): the limit is then `LEAST_BUFFER`.
   * @param isOwned whether the caller gives up the memory, as with `OWNED` of a `ByteLink`.
   */
  write(chunk: Uint8Array, isShort = false, isOwned = false): boolean {
    if (chunk.length > 0) {
      this.#chunks.push({ start: this.end, bytes: chunk, isOwned });
      this.end += chunk.length;
    }
    if (this.charge >= this.#limitNow(isShort)) this.#writerWaits = true;
    return !this.#writerWaits;
  }

  /**
   * Whether a writer for which `write` returned false may write again: half of the limit is free. True once.
   * @param isShort whether memory is short, as for `write`.
   */
  takeWritable(isShort = false): boolean {
    if (!this.#writerWaits || this.charge * 2 > this.#limitNow(isShort)) return false;
    this.#writerWaits = false;
    return true;
  }

  /** Raises the limit to twice the congestion window; the limit never decreases. */
  follow(window: number): void {
    this.limit = Math.max(this.limit, Math.min(2 * window, MAX_SEND_BUFFER));
  }

  /** Copies bytes that are not acknowledged. */
  copy(offset: number, length: number, into: Uint8Array, at: number): void {
    let index = this.#find(offset);
    for (let done = 0; done < length; index++) {
      const chunk = this.#chunks.at(index) as Chunk; // up to the end of what was written
      const from = offset + done - chunk.start;
      const count = Math.min(length - done, chunk.bytes.length - from);
      copyBytes(chunk.bytes, from, count, into, at + done);
      done += count;
      this.#hint = index;
    }
  }

  /** Releases the chunks below an offset. */
  acknowledge(upTo: number): void {
    this.#acknowledged = Math.min(Math.max(upTo, this.#acknowledged), this.end);
    let chunk = this.#chunks.peek();
    while (chunk && chunk.start + chunk.bytes.length <= this.#acknowledged) {
      this.#chunks.shift();
      if (chunk.isOwned) freeChunk(chunk.bytes);
      if (this.#hint > 0) this.#hint--;
      chunk = this.#chunks.peek();
    }
  }

  /** Releases everything after the connection has failed. */
  clear(): void {
    this.acknowledge(this.end);
    this.#hint = 0;
    this.#writerWaits = false;
  }

  #limitNow(isShort: boolean): number {
    return isShort ? LEAST_BUFFER : this.limit;
  }

  /** Returns the index of the chunk with this offset: at the hint, after it, or by binary search. */
  #find(offset: number): number {
    const chunks = this.#chunks;
    for (let index = this.#hint; index < Math.min(this.#hint + 2, chunks.size); index++) {
      const { start, bytes } = chunks.at(index) as Chunk; // below `size`
      if (offset >= start && offset < start + bytes.length) return index;
    }
    let low = 0;
    let high = chunks.size - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((chunks.at(middle) as Chunk).start <= offset) low = middle; // below `size`
      else high = middle - 1;
    }
    return low;
  }
}
