import { asSole, ownChunk } from '../../net/spent-chunk.ts';
import { copyBytes } from '../../net/copy-bytes.ts';

/** A piece of the stream's memory: bytes from `start` to `end`, each of which has its place. */
interface Block {
  readonly start: number;
  readonly end: number;
  readonly bytes: Buffer;
  /** A bit for each byte that came out of order; made when the first does. */
  present: Uint32Array | undefined;
}

const SMALL_BLOCK = 2048;
const MEDIUM_BLOCK = 8192;
const LARGE_BLOCK = 65_536;
const SMALL_UNTIL = 8192;
const MEDIUM_UNTIL = 131_072;

/** The share of a block for which it is not worth a copy to keep the rest of it. */
const WELL_FILLED = 1 / 4;

/**
 * The size of the block that an offset lies in; blocks start at multiples of it. Short streams, of
 * which a peer may open many, hold little memory, and long ones give large chunks.
 */
function blockSizeAt(offset: number): number {
  if (offset < SMALL_UNTIL) return SMALL_BLOCK;
  return offset < MEDIUM_UNTIL ? MEDIUM_BLOCK : LARGE_BLOCK;
}

/**
 * Puts the bytes of STREAM frames in order (RFC 9000 §2.2). Every byte is copied once, to its place
 * in a block, and what came out of order is marked with a bit. So there are no fragments to sort, to
 * merge or to count: the work is linear in the bytes of the frames, and the memory is at most 9/8 of
 * what lies between the first unread byte and the last that came, which flow control bounds, and one
 * block, however the bytes are cut and ordered.
 */
export class Reassembly {
  /** The block with the first unread byte, and the others by their start. */
  #first: Block | undefined;
  #others: Map<number, Block> | undefined;
  #read = 0;
  #received = 0;
  /** The end of what came out of order. */
  #ahead = 0;

  /** The offset of the next byte to be read. */
  get readOffset(): number {
    return this.#read;
  }

  /** The end of what has come without a gap. */
  get received(): number {
    return this.#received;
  }

  /** Bytes that `take` can return by now. */
  get readable(): number {
    return this.#received - this.#read;
  }

  /** Bytes of memory in use, for checks of its bound. */
  get memory(): number {
    let memory = 0;
    for (const block of [this.#first, ...(this.#others?.values() ?? [])]) {
      if (block) memory += block.bytes.length + (block.present?.byteLength ?? 0);
    }
    return memory;
  }

  /** Takes `size` bytes from `at` on, which belong at `offset`. Repeated bytes do no harm. */
  insert(offset: number, bytes: Uint8Array, at: number, size: number): void {
    const skipped = Math.max(0, this.#received - offset);
    const end = offset + size;
    for (let from = offset + skipped; from < end;) {
      const block = this.#find(from) ?? this.#add(from);
      const count = Math.min(end, block.end) - from;
      copyBytes(bytes, at + from - offset, count, block.bytes, from - block.start);
      if (from === this.#received) this.#received += count;
      else markPresent(block, from, from + count);
      from += count;
    }
    if (size > 0 && offset > this.#received) this.#ahead = Math.max(this.#ahead, end);
    else if (this.#received < this.#ahead) this.#closeGap();
  }

  /**
   * The next bytes in order; `undefined` when there are none. Their memory is the caller's, which may
   * free it: that of their block when it is complete, well filled or the stream's first, else a copy.
   */
  take(): Uint8Array | undefined {
    const block = this.#first;
    if (!block || this.#read === this.#received) return undefined;
    const { start, end, bytes, present } = block;
    const until = Math.min(this.#received, end);
    const size = until - this.#read;
    const chunk = bytes.subarray(this.#read - start, until - start);
    this.#read = until;
    if (until === end) {
      this.#first = this.#others?.get(end);
      if (this.#first) this.#others?.delete(end);
      return asSole(chunk);
    }
    // What opens a stream, such as SETTINGS, is often all there is for long.
    const isOpening = this.#read === size;
    if ((isOpening || size >= bytes.length * WELL_FILLED) && present === undefined) {
      this.#first = undefined; // what belongs behind gets a block of its own
      return asSole(chunk);
    }
    const copy = ownChunk(size);
    copy.set(chunk);
    return copy;
  }

  /** Drops everything; nothing is inserted any more. */
  clear(): void {
    this.#read = this.#received;
    this.#first = undefined;
    this.#others = undefined;
  }

  #find(offset: number): Block | undefined {
    if (this.#first && offset >= this.#first.start && offset < this.#first.end) return this.#first;
    return this.#others?.get(offset - (offset % blockSizeAt(offset)));
  }

  #add(offset: number): Block {
    const size = blockSizeAt(offset);
    const start = offset - (offset % size);
    const bytes = Buffer.allocUnsafeSlow(size);
    const block: Block = { start, end: start + size, bytes, present: undefined };
    if (this.#read >= start) this.#first = block;
    else (this.#others ??= new Map()).set(start, block);
    return block;
  }

  /** Moves `received` over what came before its turn. */
  #closeGap(): void {
    while (this.#received < this.#ahead) {
      const block = this.#find(this.#received);
      const end = block ? firstMissing(block, this.#received) : this.#received;
      if (end === this.#received) return;
      this.#received = end;
    }
  }
}

function markPresent(block: Block, start: number, end: number): void {
  const present = (block.present ??= new Uint32Array(block.bytes.length / 32));
  const from = start - block.start;
  const to = end - block.start;
  const first = from >>> 5;
  const last = (to - 1) >>> 5;
  const head = -1 << (from & 31);
  const tail = -1 >>> (31 - ((to - 1) & 31));
  if (first === last) {
    present[first] = (present[first] as number) | (head & tail); // within, as the block is
    return;
  }
  present[first] = (present[first] as number) | head;
  present.fill(0xffff_ffff, first + 1, last);
  present[last] = (present[last] as number) | tail;
}

/** The first offset from `start` on whose byte has not come; the block's end when all have. */
function firstMissing(block: Block, start: number): number {
  const { present } = block;
  if (!present) return start;
  let word = (start - block.start) >>> 5;
  let missing = ~(present[word] as number) & (-1 << (start & 31)); // blocks start at multiples of 32
  while (missing === 0) {
    if (++word === present.length) return block.end;
    missing = ~(present[word] as number);
  }
  return block.start + word * 32 + (31 - Math.clz32(missing & -missing));
}
