import {
  FIRST_RECEIVE_WINDOW,
  LEAST_BUFFER,
  LEAST_GROWTH_INTERVAL,
  MAX_RECEIVE_WINDOW,
  LEAST_BLOCK,
  MOST_BLOCK,
  OUT_OF_ORDER_BLOCK,
} from '../limits.ts';
import { copyBytes } from '@weir/base/bytes';
import { Fifo } from '@weir/base/collections';
import { asSole } from '@weir/io/links';
import { OutOfOrder } from './out-of-order.ts';

const MAX_FIELD = 65_535;
/** The share of the window by which rounding may move its right edge. */
const MOST_DRIFT = 1 / 8;

/**
 * RCV.WND (RFC 9293 §3.8.6). The window opens as the reader takes data, not as data arrives, and its right edge never
 * moves back. Its size doubles when a reader that keeps up takes at least half of it in a round trip, so a
 * connection that is not read holds no more than the first window.
 */
class AdvertisedWindow {
  /** The size of the window in bytes: the most that may be unread. */
  size = FIRST_RECEIVE_WINDOW;
  #max: number;
  /** RCV.NXT + RCV.WND: the right edge, as announced to the peer. */
  edge: number;
  #roundTrip = Infinity;
  /** Number of bytes that the reader has taken since `#measuredFrom`. */
  #taken = 0;
  #measuredFrom: number;

  constructor(now: number, max = MAX_RECEIVE_WINDOW) {
    this.#max = max;
    this.size = Math.min(FIRST_RECEIVE_WINDOW, max);
    this.edge = 0;
    this.#measuredFrom = now;
  }

  /** Records a round trip in milliseconds, from echoed timestamps or the handshake; the minimum is used. */
  onRoundTrip(sample: number): void {
    this.#roundTrip = Math.min(this.#roundTrip, sample);
  }

  /** Limits the window to `most`, the largest that can be announced without window scaling. */
  limit(most: number): void {
    this.#max = Math.min(this.#max, most);
    this.size = Math.min(this.size, most);
  }

  /** Shrinks the window to `LEAST_BUFFER`, since the shared memory is used up; it may grow again from there. */
  shrink(): void {
    this.size = Math.min(this.size, LEAST_BUFFER);
  }

  /**
   * Called when the reader has taken bytes.
   * @param unread bytes that it has not taken yet, without those after a gap.
   * @param mayGrow whether the window may grow: see `SharedMemory`.
   */
  onTaken(bytes: number, unread: number, mayGrow: boolean, now: number): void {
    this.#taken += bytes;
    const interval = Math.max(this.#roundTrip, LEAST_GROWTH_INTERVAL);
    const elapsed = now - this.#measuredFrom;
    // Half of the window per round trip, over one round trip or more.
    const rounds = Math.max(1, elapsed / interval);
    const isFast = this.#taken * 2 >= this.size * rounds;
    if (isFast && mayGrow && unread * 4 <= this.size) {
      this.size = Math.min(this.#max, this.size * 2);
    } else if (elapsed < interval) return;
    this.#taken = 0;
    this.#measuredFrom = now;
  }

  /**
   * Whether a window update is due (receiver's silly window syndrome avoidance, RFC 9293 §3.8.6.2.2): the right
   * edge moves by at least two full segments and a quarter of the window, or the window is nearly closed.
   */
  isUpdateDue(read: number, received: number, mss: number): boolean {
    const gain = read + this.size - this.edge;
    if (gain < mss && gain * 2 < this.size) return false;
    const left = this.edge - received;
    return gain >= Math.max(2 * mss, this.size / 4) || left < 2 * mss;
  }

  /**
   * Returns the window field of the next segment. Moves the right edge to the announced one.
   * @param scale Rcv.Wind.Shift (RFC 7323 §2.3); 0 without the option and in a SYN.
   */
  announce(read: number, received: number, mss: number, scale: number): number {
    const unit = 2 ** scale;
    const wanted = read + this.size;
    // Less than a segment is not announced (RFC 9293 §3.8.6.2.2).
    const isWorth = wanted - this.edge >= Math.min(mss, this.size / 2);
    const fresh = isWorth ? Math.floor((wanted - received) / unit) : 0;
    const field = Math.min(Math.max(fresh, this.#repeat(read, received, unit)), MAX_FIELD);
    this.edge = Math.max(this.edge, received + field * unit);
    return field;
  }

  /** Returns the window field that keeps the right edge where it is: rounded up, because the window must not shrink. */
  #repeat(read: number, received: number, unit: number): number {
    const units = (this.edge - received) / unit;
    // Rounding up moves the edge with each segment smaller than the unit. Beyond a limit the field is rounded down;
    // data up to the announced edge is still accepted.
    const isDrifting = this.edge - read > this.size * (1 + MOST_DRIFT);
    return Math.max(isDrifting ? Math.floor(units) : Math.ceil(units), 0);
  }
}

/** Maximum memory of unread chunks, as a multiple of their bytes. */
const WASTE = 4;

/**
 * How the data of a segment arrived. The ACK of `in-order` may be delayed; all others are due at once (RFC 5681 §4.2).
 */
type Arrival =
  | 'in-order'
  /** The data is in order, and out-of-order data waits. */
  | 'filled'
  | 'out-of-order'
  /** The data is not new; reported by DSACK (RFC 2883). */
  | 'duplicate'
  /** The data is outside the window, or beyond `MAX_RANGES`. */
  | 'dropped';

/**
 * Puts the peer's data in order for the reader. Data is copied once, from the packet into a chunk that the
 * reader then owns; many small segments share a chunk. Offset 0 is the byte after the SYN.
 */
export class ReceiveBuffer {
  readonly window: AdvertisedWindow;
  /** Out-of-order data; `undefined` while there is none. */
  #ahead: OutOfOrder | undefined;
  /** Chunks in order, before the data in the current block. */
  readonly #chunks = new Fifo<Uint8Array>();
  /** Bytes of memory that the chunks keep alive. */
  #chunkMemory = 0;
  #block: Uint8Array | undefined;
  /** Bytes of the current block that the reader has taken; `#blockEnd` is the end of those received. */
  #blockRead = 0;
  #blockEnd = 0;
  #read = 0;
  /** RCV.NXT, without the FIN. */
  received = 0;
  /** Bytes received since the reader had last taken everything, and in the period before. */
  #burst = 0;
  #lastBurst = 0;
  #duplicateStart = 0;
  #duplicateEnd = 0;

  constructor(now: number, max = MAX_RECEIVE_WINDOW) {
    this.window = new AdvertisedWindow(now, max);
  }

  /** Number of bytes that the reader can take now. */
  get readable(): number {
    return this.received - this.#read;
  }

  /** Whether there is data after a gap: each segment must then be acknowledged at once. */
  get hasGap(): boolean {
    return this.#ahead !== undefined;
  }

  /** Memory in bytes that holds data not yet taken by the reader. */
  get memory(): number {
    const inBlock = this.#blockEnd > this.#blockRead ? (this.#block?.length ?? 0) : 0;
    return (this.#ahead?.memory ?? 0) + this.#chunkMemory + inBlock;
  }

  /**
   * Inserts `size` bytes (at least 1) at `offset`; they start at `at` in `bytes`.
   * @param isShort whether memory is short (see `SharedMemory`): the window is then `LEAST_BUFFER`, and no out-of-order
   * data is kept.
   */
  insert(offset: number, bytes: Uint8Array, at: number, size: number, isShort = false): Arrival {
    if (isShort) this.window.shrink();
    const start = Math.max(offset, this.received);
    if (offset + size <= this.received) return this.#duplicate(offset, offset + size);
    const end = Math.min(offset + size, isShort ? this.#leastEdge() : this.window.edge);
    if (start >= end || (isShort && start > this.received)) return 'dropped';
    const ahead = this.#ahead;
    if (start > this.received) {
      if (ahead?.has(start, end) === true) return this.#duplicate(start, end);
      const gapped = (this.#ahead ??= new OutOfOrder());
      return gapped.insert(start, end, bytes, at + start - offset) ? 'out-of-order' : 'dropped';
    }
    if (offset < this.received) this.#duplicate(offset, this.received);
    if (ahead === undefined) {
      this.#append(bytes, at + start - offset, end - start);
      return 'in-order';
    }
    this.#fill(ahead, start, end, bytes, at - offset);
    return 'filled';
  }

  /**
   * Takes the next bytes in order, which the caller then owns; `undefined` if there are none.
   * @param mayGrow whether the window may grow: see `SharedMemory`.
   */
  take(now: number, mayGrow = true): Uint8Array | undefined {
    const chunk = this.#takeChunk() ?? this.#takeBlock();
    if (chunk === undefined) return undefined;
    this.#read += chunk.length;
    if (this.#read === this.received) {
      this.#lastBurst = this.#burst;
      this.#burst = 0;
      // An idle connection keeps no block, and a reader that has taken a whole block may free it.
      const isWhole = this.#block?.buffer === chunk.buffer && chunk.length === this.#blockEnd;
      if (isWhole) asSole(chunk);
      this.#block = undefined;
    }
    this.window.onTaken(chunk.length, this.readable, mayGrow, now);
    return chunk;
  }

  /** Returns the window field of the next segment; see `AdvertisedWindow.announce`. */
  announce(mss: number, scale: number): number {
    return this.window.announce(this.#read, this.received, mss, scale);
  }

  /** Whether a window update is due; see `AdvertisedWindow.isUpdateDue`. */
  isUpdateDue(mss: number): boolean {
    return this.window.isUpdateDue(this.#read, this.received, mss);
  }

  /**
   * Writes the SACK blocks of the next segment: a duplicate first (once, RFC 2883), then the ranges that
   * changed last.
   * @param blocks start and end alternately.
   * @param limit the maximum number of pairs.
   * @returns the number of pairs.
   */
  report(blocks: Float64Array, limit: number): number {
    let count = 0;
    if (this.#duplicateEnd > this.#duplicateStart && limit > 0) {
      blocks[0] = this.#duplicateStart;
      blocks[1] = this.#duplicateEnd;
      count = 1;
      this.#duplicateEnd = this.#duplicateStart;
    }
    return this.#ahead?.report(blocks, count, limit) ?? count;
  }

  /** Discards everything after the connection was aborted. */
  clear(): void {
    this.#read = this.received;
    this.#chunks.clear();
    this.#chunkMemory = 0;
    this.#block = undefined;
    this.#ahead = undefined;
  }

  /** Inserts in-order data while out-of-order data waits. The byte of an offset is at `base + offset` in `bytes`. */
  #fill(ahead: OutOfOrder, start: number, end: number, bytes: Uint8Array, base: number): void {
    for (let from = start; from < end; from = this.received) {
      const until = ahead.isEmpty ? end : Math.min(end, ahead.firstStart);
      this.#append(bytes, base + from, until - from);
      while (!ahead.isEmpty && ahead.firstStart === this.received) {
        const chunk = ahead.take(this.received);
        // A view keeps its whole block in memory, so small ones are copied.
        if (chunk.length * WASTE < OUT_OF_ORDER_BLOCK) this.#append(chunk, 0, chunk.length);
        else {
          this.#seal();
          this.#push(chunk);
          this.received += chunk.length;
          this.#burst += chunk.length;
        }
      }
    }
    if (ahead.isEmpty) this.#ahead = undefined;
  }

  /** Returns the right edge of the window when memory is short. */
  #leastEdge(): number {
    return Math.min(this.window.edge, this.#read + LEAST_BUFFER);
  }

  #duplicate(start: number, end: number): 'duplicate' {
    this.#duplicateStart = start;
    this.#duplicateEnd = end;
    return 'duplicate';
  }

  #append(bytes: Uint8Array, at: number, size: number): void {
    this.#burst += size;
    this.received += size;
    for (let done = 0; done < size;) {
      const block = this.#block ?? this.#newBlock(size - done);
      const count = Math.min(size - done, block.length - this.#blockEnd);
      copyBytes(bytes, at + done, count, block, this.#blockEnd);
      this.#blockEnd += count;
      done += count;
      if (this.#blockEnd === block.length) this.#seal();
    }
  }

  /** Allocates a block, sized by the previous period, to hold the data that may arrive before the reader runs. */
  #newBlock(size: number): Uint8Array {
    const expected = Math.max(size, this.#lastBurst - this.#burst + size, this.#burst);
    let length = LEAST_BLOCK;
    while (length < expected && length < MOST_BLOCK) length *= 2;
    // Not from Node's pool: an unread block would keep the whole pool in memory.
    this.#block = Buffer.allocUnsafeSlow(length);
    this.#blockRead = 0;
    this.#blockEnd = 0;
    return this.#block;
  }

  /** Closes the current block: its unread part becomes a chunk. */
  #seal(): void {
    const length = this.#block?.length ?? 0;
    const chunk = this.#takeBlock();
    this.#block = undefined;
    if (chunk === undefined) return;
    this.#push(chunk.length * WASTE < length ? new Uint8Array(chunk) : chunk);
  }

  #push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#chunkMemory += chunk.buffer.byteLength;
  }

  #takeChunk(): Uint8Array | undefined {
    const chunk = this.#chunks.shift();
    if (chunk !== undefined) this.#chunkMemory -= chunk.buffer.byteLength;
    return chunk;
  }

  #takeBlock(): Uint8Array | undefined {
    const block = this.#block;
    if (block === undefined || this.#blockRead === this.#blockEnd) return undefined;
    const chunk = block.subarray(this.#blockRead, this.#blockEnd);
    this.#blockRead = this.#blockEnd;
    return chunk;
  }
}
