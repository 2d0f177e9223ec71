import { copyBytes } from '../../collections/copy-bytes.ts';
import { Fifo } from '../../collections/fifo.ts';
import { freeChunk } from '../../net/links/spent-chunk.ts';
import {
  CHUNK_OVERHEAD,
  FIRST_SEND_BUFFER,
  LEAST_BUFFER,
  MAX_SEND_BUFFER,
} from './buffer-limits.ts';

interface Chunk {
  /** Its offset in the stream. */
  readonly start: number;
  readonly bytes: Uint8Array;
  /** Whether nothing else refers to the memory: it is freed as soon as it is acknowledged. */
  readonly isOwned: boolean;
}

/**
 * What the application has written and the peer has not acknowledged: chunks as they were given, by
 * stream offset. Its limit follows the congestion window, within bounds.
 */
export class SendBuffer {
  readonly #chunks = new Fifo<Chunk>();
  #acknowledged = 0;
  #end = 0;
  #limit = FIRST_SEND_BUFFER;
  #writerWaits = false;
  /** Index of the chunk that was copied from last: the next copy usually goes on there. */
  #hint = 0;

  /** The end of what was written. */
  get end(): number {
    return this.#end;
  }

  /** Bytes written and not acknowledged. */
  get size(): number {
    return this.#end - this.#acknowledged;
  }

  /** The same with what the chunks cost beside their bytes. */
  get charge(): number {
    return this.size + this.#chunks.size * CHUNK_OVERHEAD;
  }

  get limit(): number {
    return this.#limit;
  }

  /**
   * Takes a chunk, which must not be changed from now on. Returns whether more may be written now.
   * @param isShort whether there is memory for `LEAST_BUFFER` alone.
   * @param isOwned whether its memory comes with it, as with `OWNED` of a `ByteLink`.
   */
  write(chunk: Uint8Array, isShort = false, isOwned = false): boolean {
    if (chunk.length > 0) {
      this.#chunks.push({ start: this.#end, bytes: chunk, isOwned });
      this.#end += chunk.length;
    }
    if (this.charge >= this.#limitNow(isShort)) this.#writerWaits = true;
    return !this.#writerWaits;
  }

  /**
   * Whether a writer that was asked to wait may write again: with half of the limit free. Says so once.
   * @param isShort see `write`.
   */
  takeWritable(isShort = false): boolean {
    if (!this.#writerWaits || this.charge * 2 > this.#limitNow(isShort)) return false;
    this.#writerWaits = false;
    return true;
  }

  /** The congestion window is so large; the limit never shrinks. */
  follow(window: number): void {
    this.#limit = Math.max(this.#limit, Math.min(2 * window, MAX_SEND_BUFFER));
  }

  /** Copies bytes that were written and are not acknowledged. */
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

  /** Forgets what lies below an offset. */
  acknowledge(upTo: number): void {
    this.#acknowledged = Math.min(Math.max(upTo, this.#acknowledged), this.#end);
    let chunk = this.#chunks.peek();
    while (chunk && chunk.start + chunk.bytes.length <= this.#acknowledged) {
      this.#chunks.shift();
      if (chunk.isOwned) freeChunk(chunk.bytes);
      if (this.#hint > 0) this.#hint--;
      chunk = this.#chunks.peek();
    }
  }

  /** Forgets everything: the connection was reset. */
  clear(): void {
    this.acknowledge(this.#end);
    this.#hint = 0;
    this.#writerWaits = false;
  }

  #limitNow(isShort: boolean): number {
    return isShort ? LEAST_BUFFER : this.#limit;
  }

  /** The index of the chunk with this offset: at the hint, behind it, or by search. */
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
