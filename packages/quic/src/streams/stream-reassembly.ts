import { RangeSet, copyBytes } from '@weir/base/bytes';
import { asSole, ownChunk } from '@weir/io/links';

/** Ranges of one block beyond which a bitmap of its bytes takes less work and, soon, less memory. */
const MOST_RANGES = 16;

/**
 * The bytes of a block that were received out of order, by their offsets in the block. After a loss or a reordering
 * these are one range or two, so ranges are kept, and a bitmap only for a block with many gaps. A change takes no more
 * work than `MOST_RANGES` ranges or its own bytes do, however a peer cuts its frames.
 */
class ReceivedParts {
  readonly #size: number;
  readonly #ranges = new RangeSet();
  #bits: Uint32Array | undefined;
  /** The end of the last byte that was received. */
  end = 0;

  /** @param size the size of the block in bytes, a multiple of 32. */
  constructor(size: number) {
    this.#size = size;
  }

  /** Memory of the bitmap in bytes, if there is one. */
  get memory(): number {
    return this.#bits?.byteLength ?? 0;
  }

  /** Adds the bytes from `start` to `end` (excluded), which is greater. */
  add(start: number, end: number): void {
    this.end = Math.max(this.end, end);
    if (this.#bits !== undefined) {
      mark(this.#bits, start, end);
      return;
    }
    const ranges = this.#ranges;
    ranges.add(start, end);
    if (ranges.size <= MOST_RANGES) return;
    this.#bits = new Uint32Array(this.#size / 32);
    for (let i = 0; i < ranges.size; i++) mark(this.#bits, ranges.start(i), ranges.end(i));
    ranges.clear();
  }

  /** Returns the first offset from `start` on whose byte was not received; the size of the block when all were. */
  firstMissing(start: number): number {
    if (this.#bits !== undefined) return firstZero(this.#bits, start);
    const ranges = this.#ranges;
    const index = ranges.find(start);
    return index < ranges.size && ranges.start(index) <= start ? ranges.end(index) : start;
  }
}

function mark(bits: Uint32Array, start: number, end: number): void {
  const first = start >>> 5;
  const last = (end - 1) >>> 5;
  const head = -1 << (start & 31);
  const tail = -1 >>> (31 - ((end - 1) & 31));
  if (first === last) {
    bits[first] = (bits[first] as number) | (head & tail); // within, as the block is
    return;
  }
  bits[first] = (bits[first] as number) | head;
  bits.fill(0xffff_ffff, first + 1, last);
  bits[last] = (bits[last] as number) | tail;
}

function firstZero(bits: Uint32Array, start: number): number {
  let word = start >>> 5;
  let missing = ~(bits[word] as number) & (-1 << (start & 31));
  while (missing === 0) {
    if (++word === bits.length) return bits.length * 32;
    missing = ~(bits[word] as number);
  }
  return word * 32 + (31 - Math.clz32(missing & -missing));
}

/** A block of the stream's bytes from `start` to `end`. */
interface Block {
  readonly start: number;
  readonly end: number;
  readonly bytes: Buffer;
  /** Parts of the block that were received out of order; `undefined` while there are none. */
  ahead: ReceivedParts | undefined;
}

const SMALL_BLOCK = 2048;
const MEDIUM_BLOCK = 8192;
const LARGE_BLOCK = 65_536;
const SMALL_UNTIL = 8192;
const MEDIUM_UNTIL = 131_072;

/** The filled share of a block from which on its bytes are passed on with the block, instead of copied. */
const WELL_FILLED = 1 / 4;

/** The share of a block that has to be received out of order before the block is allocated. */
const WORTH_A_BLOCK = 1 / 8;

/**
 * Returns the size of the block that contains an offset; blocks start at multiples of it. Short streams, of which a
 * peer may open many, hold little memory, and long ones give large chunks.
 */
function blockSizeAt(offset: number): number {
  if (offset < SMALL_UNTIL) return SMALL_BLOCK;
  return offset < MEDIUM_UNTIL ? MEDIUM_BLOCK : LARGE_BLOCK;
}

/**
 * Puts the bytes of STREAM frames in order (RFC 9000 §2.2). Every byte is copied to its place in a block, and the parts
 * of a block received out of order are recorded separately. There are no fragments to sort or to merge: the work is
 * linear in the bytes of the frames, however they are cut and ordered.
 *
 * A block after a gap is a list of fragments until enough of it was received to be worth its memory. The memory is
 * therefore at most nine times the bytes received, plus `Fragments.OVERHEAD` for each block with any; and at most one
 * block and 9/8 of the range from the first unread byte to the last received one, which flow control bounds. One log of
 * fragments, of an eighth of a block, may be kept spare in addition. Memory that a path with losses needs repeatedly is
 * small or reused, because external memory would trigger full garbage collections: bitmaps and logs of 20 KB for each
 * block took a quarter of a receiver's time.
 */
export class StreamReassembly {
  /** The block with the first unread byte, and the other blocks by their start. */
  #first: Block | undefined;
  #others: Map<number, Block> | undefined;
  /** The fragments of blocks that are not allocated, by the start of the block. */
  #sparse: Map<number, Fragments> | undefined;
  /** The log of fragments that became a block, kept for the next ones while there are bytes after a gap. */
  #spare: Buffer | undefined;
  /** The offset of the next byte to be read. */
  readOffset = 0;
  /** The end of the bytes that were received without a gap. */
  received = 0;
  /** The end of the bytes that were received out of order. */
  #ahead = 0;

  /** Number of bytes that `take` can return. */
  get readable(): number {
    return this.received - this.readOffset;
  }

  /** Bytes of memory in use; for tests of its bound. */
  get memory(): number {
    let memory = 0;
    for (const block of [this.#first, ...(this.#others?.values() ?? [])]) {
      if (block) memory += block.bytes.length + (block.ahead?.memory ?? 0);
    }
    memory += this.#spare?.length ?? 0;
    for (const fragments of this.#sparse?.values() ?? []) memory += fragments.memory;
    return memory;
  }

  /** Inserts the `size` bytes from `at` on at `offset` of the stream. Bytes may be repeated. */
  insert(offset: number, bytes: Uint8Array, at: number, size: number): void {
    const before = this.received;
    const skipped = Math.max(0, before - offset);
    const end = offset + size;
    for (let from = offset + skipped; from < end;) {
      const block = this.#find(from) ?? this.#blockFor(from, end);
      if (block === undefined) {
        from = this.#keepFragment(from, end, bytes, at + from - offset);
        continue;
      }
      const count = Math.min(end, block.end) - from;
      copyBytes(bytes, at + from - offset, count, block.bytes, from - block.start);
      if (from === this.received) this.received += count;
      else markAhead(block, from, from + count);
      from += count;
    }
    if (size > 0 && offset > this.received) this.#ahead = Math.max(this.#ahead, end);
    // An empty frame or a repetition closes no gap, and its fragments are to stay fragments.
    if (this.received > before) this.#closeGap();
    if (this.received >= this.#ahead) this.#spare = undefined;
  }

  /**
   * Returns the next bytes in order; `undefined` when there are none. The caller owns their memory and may free it: the
   * block itself when it is complete, well filled or the stream's first, otherwise a copy.
   */
  take(): Uint8Array | undefined {
    const block = this.#first;
    if (!block || this.readOffset === this.received) return undefined;
    const { start, end, bytes, ahead } = block;
    const until = Math.min(this.received, end);
    const size = until - this.readOffset;
    const chunk = bytes.subarray(this.readOffset - start, until - start);
    this.readOffset = until;
    if (until === end) {
      this.#first = this.#others?.get(end);
      if (this.#first) this.#others?.delete(end);
      return asSole(chunk);
    }
    // The first bytes of a stream, such as SETTINGS, are often the only ones for long.
    const isOpening = this.readOffset === size;
    if ((isOpening || size >= bytes.length * WELL_FILLED) && ahead === undefined) {
      this.#first = undefined; // the bytes after it get a block of their own
      return asSole(chunk);
    }
    const copy = ownChunk(size);
    copy.set(chunk);
    return copy;
  }

  /** Drops everything. Nothing may be inserted afterwards. */
  clear(): void {
    this.readOffset = this.received;
    this.#first = undefined;
    this.#others = undefined;
    this.#sparse = undefined;
    this.#spare = undefined;
  }

  #find(offset: number): Block | undefined {
    if (this.#first && offset >= this.#first.start && offset < this.#first.end) return this.#first;
    return this.#others?.get(offset - (offset % blockSizeAt(offset)));
  }

  /**
   * Allocates the block for bytes from `offset` on, if they are in order or enough to be worth it, and moves
   * its fragments into it. `undefined` when the bytes are to be kept as a fragment.
   */
  #blockFor(offset: number, end: number): Block | undefined {
    const size = blockSizeAt(offset);
    const start = offset - (offset % size);
    const fragments = this.#sparse?.get(start);
    const most = size * WORTH_A_BLOCK;
    const isWorthIt =
      offset === this.received ||
      Math.min(end, start + size) - offset + (fragments?.size ?? 0) >= most;
    if (!isWorthIt) return undefined;
    const block = this.#add(start, size);
    if (fragments !== undefined) this.#place(fragments, block);
    return block;
  }

  #add(start: number, size: number): Block {
    const bytes = Buffer.allocUnsafeSlow(size);
    const block: Block = { start, end: start + size, bytes, ahead: undefined };
    if (this.readOffset >= start) this.#first = block;
    else (this.#others ??= new Map()).set(start, block);
    return block;
  }

  /** Moves the fragments of a block into it. */
  #place(fragments: Fragments, block: Block): void {
    const { start } = block;
    this.#sparse?.delete(start);
    fragments.copyTo(block.bytes, (from, to) => {
      markAhead(block, start + from, start + to);
    });
    this.#spare = fragments.log;
  }

  /** Keeps the bytes from `from` up to the end of their block as a fragment. Returns the offset after them. */
  #keepFragment(from: number, end: number, bytes: Uint8Array, at: number): number {
    const size = blockSizeAt(from);
    const within = from % size;
    const start = from - within;
    const count = Math.min(end, start + size) - from;
    const sparse = (this.#sparse ??= new Map());
    let fragments = sparse.get(start);
    if (fragments === undefined) {
      fragments = new Fragments(count, size * WORTH_A_BLOCK, this.#spare);
      if (fragments.log === this.#spare) this.#spare = undefined;
      sparse.set(start, fragments);
    }
    fragments.add(within, bytes, at, count);
    return from + count;
  }

  /** Advances `received` over bytes that were received out of order. */
  #closeGap(): void {
    while (this.received < this.#ahead) {
      const block = this.#find(this.received) ?? this.#blockOfFragments(this.received);
      if (block?.ahead === undefined) return;
      const { start, ahead } = block;
      const end = start + ahead.firstMissing(this.received - start);
      if (end >= start + ahead.end) block.ahead = undefined;
      if (end === this.received) return;
      this.received = end;
    }
  }

  /** Allocates the block of an offset for which there are fragments, which are in order now. */
  #blockOfFragments(offset: number): Block | undefined {
    const size = blockSizeAt(offset);
    const start = offset - (offset % size);
    const fragments = this.#sparse?.get(start);
    if (fragments === undefined) return undefined;
    const block = this.#add(start, size);
    this.#place(fragments, block);
    return block;
  }
}

/**
 * The fragments of a block that is not allocated, in the order of their arrival: each follows a header with
 * its offset in the block and its size.
 */
class Fragments {
  /** Approximate memory in bytes of such an object beside its log. */
  static readonly OVERHEAD = 256;
  static readonly #HEAD = 4;
  static readonly #LEAST = 64;
  /** The memory of the fragments; may be reused after `copyTo`. */
  log: Buffer;
  /** Bytes of the log in use, headers included. */
  size = 0;
  readonly #most: number;

  /**
   * @param first bytes of the first fragment: room is made for eight of that size, as for packets after a loss.
   * @param most bytes at which the fragments become a block.
   * @param spare memory to use if it suffices.
   */
  constructor(first: number, most: number, spare: Buffer | undefined) {
    const room = Math.max(Fragments.#LEAST, Math.min(most, 8 * (Fragments.#HEAD + first)));
    const fits = spare !== undefined && spare.length >= room && spare.length <= most;
    this.log = fits ? spare : Buffer.allocUnsafeSlow(room);
    this.#most = most;
  }

  get memory(): number {
    return this.log.length + Fragments.OVERHEAD;
  }

  /**
   * Adds a fragment.
   * @param within the offset of the bytes in the block.
   */
  add(within: number, bytes: Uint8Array, at: number, count: number): void {
    const end = this.size + Fragments.#HEAD + count;
    if (end > this.log.length) {
      const grown = Buffer.allocUnsafeSlow(
        Math.max(end, Math.min(2 * this.log.length, this.#most)),
      );
      this.log.copy(grown, 0, 0, this.size);
      this.log = grown;
    }
    this.log.writeUInt16LE(within, this.size);
    this.log.writeUInt16LE(count, this.size + 2);
    copyBytes(bytes, at, count, this.log, this.size + Fragments.#HEAD);
    this.size = end;
  }

  /** Copies every fragment to its place in a block. */
  copyTo(block: Buffer, onCopied: (from: number, to: number) => void): void {
    for (let at = 0; at < this.size;) {
      const within = this.log.readUInt16LE(at);
      const count = this.log.readUInt16LE(at + 2);
      at += Fragments.#HEAD;
      this.log.copy(block, within, at, at + count);
      at += count;
      onCopied(within, within + count);
    }
  }
}

function markAhead(block: Block, start: number, end: number): void {
  const ahead = (block.ahead ??= new ReceivedParts(block.bytes.length));
  ahead.add(start - block.start, end - block.start);
}
