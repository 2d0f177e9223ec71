/*
 * Numbers in network order (big-endian) at offsets that were checked before. The functions are small enough to
 * be inlined, and need no `DataView` of each packet.
 */

export const readUint16 = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] as number) << 8) | (bytes[at + 1] as number);

/** Reads a signed 32-bit word, as the words of an `IpEndpoint`. */
export const readInt32 = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] as number) << 24) |
  ((bytes[at + 1] as number) << 16) |
  ((bytes[at + 2] as number) << 8) |
  (bytes[at + 3] as number);

export const readUint32 = (bytes: Uint8Array, at: number): number => readInt32(bytes, at) >>> 0;

export function writeUint16(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 8;
  bytes[at + 1] = value;
}

export function writeUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

const { copy } = Buffer.prototype;

/**
 * Copies a part of one array into another. As a method of `Buffer` it needs no view of the part,
 * which `set` would: no allocation per packet.
 */
export function copyBytes(
  from: Uint8Array,
  at: number,
  size: number,
  to: Uint8Array,
  toAt: number,
): void {
  copy.call(from, to, toAt, at, at + size);
}

/**
 * Returns a copy of a part, in its own memory. `slice` of a `Buffer` is a view of the same memory, which is reused for
 * the next datagram.
 */
export const copyOf = (bytes: Uint8Array, start: number, end: number): Uint8Array =>
  new Uint8Array(bytes.subarray(start, end));

const LEAST = 256;

/**
 * A byte array that grows. Its space doubles, so that the work is linear in the bytes whatever the size of the
 * pieces; the caller bounds the length.
 */
export class GrowingBytes {
  #space = new Uint8Array(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** All bytes so far; later calls of `append` do not change them. */
  get bytes(): Uint8Array {
    return this.#space.subarray(0, this.#length);
  }

  /** The same as a `Buffer`, without a copy. */
  get buffer(): Buffer {
    return Buffer.from(this.#space.buffer, this.#space.byteOffset, this.#length);
  }

  append(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#space.length) {
      const larger = new Uint8Array(Math.max(LEAST, length, 2 * this.#space.length));
      larger.set(this.bytes);
      this.#space = larger;
    }
    this.#space.set(piece, this.#length);
    this.#length = length;
  }
}

const NOTHING = new Uint8Array(0);

/**
 * Reads pieces of given lengths from a stream of chunks. A piece within the last chunk is returned
 * without a copy; only one that spans several chunks is copied, into a buffer that is reused.
 *
 * A turn is: `feed`, `take` until it returns `undefined`, `keep`. A piece is valid during its turn.
 */
export class PieceReader {
  #fed: Uint8Array = NOTHING;
  #at = 0;
  #scratch: Uint8Array = NOTHING;
  #held = 0;

  /** Bytes kept from earlier turns. */
  get held(): number {
    return this.#held;
  }

  feed(bytes: Uint8Array): void {
    this.#fed = bytes;
    this.#at = 0;
  }

  /** Returns the next `length` bytes; `undefined` until all of them have been fed. */
  take(length: number): Uint8Array | undefined {
    const fed = this.#fed.length - this.#at;
    if (this.#held + fed < length) return undefined;
    if (this.#held === 0) return this.#fed.subarray(this.#at, (this.#at += length));
    if (this.#held >= length) throw new RangeError('the piece is shorter than the kept bytes');
    const missing = length - this.#held;
    this.#reserve(length);
    this.#scratch.set(this.#fed.subarray(this.#at, this.#at + missing), this.#held);
    this.#at += missing;
    this.#held = 0;
    return this.#scratch.subarray(0, length);
  }

  /** Ends the last turn: returns the bytes that were not taken. */
  rest(): Uint8Array {
    const rest = this.#fed.subarray(this.#at);
    this.feed(NOTHING);
    return rest;
  }

  /** Ends a turn: keeps the bytes that were not taken. */
  keep(): void {
    const rest = this.#fed.subarray(this.#at);
    if (rest.length > 0) {
      this.#reserve(this.#held + rest.length);
      this.#scratch.set(rest, this.#held);
      this.#held += rest.length;
    }
    this.feed(NOTHING);
  }

  #reserve(length: number): void {
    if (this.#scratch.length >= length) return;
    // In powers of two, so that a piece received byte by byte costs linear work.
    const grown = new Uint8Array(2 ** Math.ceil(Math.log2(length)));
    grown.set(this.#scratch.subarray(0, this.#held));
    this.#scratch = grown;
  }
}

/**
 * Chunks up to this many bytes are appended to the chunk before by copying. As an object each costs some
 * 200 bytes, or keeps alive the memory that it is a part of.
 */
const SHORT_CHUNK = 512;

/** Bytes of each buffer that short chunks are copied into. */
const JOINED_BYTES = 4096;

/**
 * Bytes that arrive in pieces and are taken in pieces of other lengths: the buffer of frame decoders
 * between two reads. Bytes are copied only when a taken piece spans several chunks, and when a short
 * chunk is queued after another: a frame that is received byte by byte costs its bytes, and not an
 * object for each.
 */
export class ByteQueue {
  readonly #chunks: Uint8Array[] = [];
  /** Bytes of the first chunk that were taken. */
  #offset = 0;
  #length = 0;
  /** The buffer whose beginning is the last chunk; `undefined` unless that chunk consists of short ones. */
  #joined: Uint8Array | undefined;

  get length(): number {
    return this.#length;
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    if (chunk.length <= SHORT_CHUNK && this.#length > 0) this.#append(chunk);
    else {
      this.#chunks.push(chunk);
      this.#joined = undefined;
    }
    this.#length += chunk.length;
  }

  /** Returns the first `length` bytes without taking them; `undefined` while there are fewer. */
  peek(length: number): Uint8Array | undefined {
    if (length > this.#length) return undefined;
    const [first] = this.#chunks;
    if (first === undefined) return new Uint8Array(0);
    if (first.length - this.#offset < length) {
      // In place, so that the next peek or take does not copy again.
      this.#join(length);
      return this.peek(length);
    }
    return first.subarray(this.#offset, this.#offset + length);
  }

  /** Takes exactly `length` bytes; `undefined` while there are fewer. */
  take(length: number): Uint8Array | undefined {
    const bytes = this.peek(length);
    if (bytes) this.#skip(length);
    return bytes;
  }

  /** Takes up to `limit` bytes without a copy; `undefined` when there are none. */
  takeSome(limit: number): Uint8Array | undefined {
    const [first] = this.#chunks;
    return first && this.take(Math.min(limit, first.length - this.#offset));
  }

  /** Copies a short chunk to the end of the last one, or into a new buffer. */
  #append(chunk: Uint8Array): void {
    const last = this.#chunks.length - 1;
    const used = this.#joined ? (this.#chunks[last]?.length ?? 0) : 0;
    if (this.#joined && used + chunk.length <= this.#joined.length) {
      this.#joined.set(chunk, used);
      this.#chunks[last] = this.#joined.subarray(0, used + chunk.length);
      return;
    }
    // Not from Node's pool, which one part would keep alive as a whole.
    this.#joined = Buffer.allocUnsafeSlow(JOINED_BYTES);
    this.#joined.set(chunk);
    this.#chunks.push(this.#joined.subarray(0, chunk.length));
  }

  /** Joins the first chunks to one of at least `length` bytes. */
  #join(length: number): void {
    const parts: Uint8Array[] = [];
    let joined = 0;
    for (const chunk of this.#chunks) {
      if (joined >= length) break;
      const part = parts.length === 0 ? chunk.subarray(this.#offset) : chunk;
      parts.push(part);
      joined += part.length;
    }
    // If that includes the last chunk, it is no longer the beginning of its buffer.
    if (parts.length === this.#chunks.length) this.#joined = undefined;
    this.#chunks.splice(0, parts.length, Buffer.concat(parts, joined));
    this.#offset = 0;
  }

  #skip(length: number): void {
    this.#offset += length;
    this.#length -= length;
    if (this.#offset === this.#chunks[0]?.length) {
      this.#chunks.shift();
      this.#offset = 0;
      if (this.#chunks.length === 0) this.#joined = undefined;
    }
  }
}

const FIRST_CAPACITY = 8;
/** The bounds shared by empty sets: most sets stay empty. */
const NO_BOUNDS = new Float64Array(0);

/**
 * A set of numbers as sorted ranges, none of which touch each other: offsets that were received, lost
 * or acknowledged. Its users bound the number of ranges. Plain numbers in one array, with room on both sides: a change
 * moves 16 bytes for each range before it or for each one after it, whichever are fewer, so that one at either end,
 * the usual case, moves nothing or little.
 */
export class RangeSet {
  /** Start and end (excluded) of each range in turn. */
  #bounds = NO_BOUNDS;
  /** The position of the first range in `#bounds`, in ranges. */
  #head = 0;
  #size = 0;

  /** The number of ranges. */
  get size(): number {
    return this.#size;
  }

  start(index: number): number {
    return this.#bounds[(this.#head + index) * 2] as number; // the caller passes an index below `size`; here and below
  }

  /** Returns the end of a range (excluded). */
  end(index: number): number {
    return this.#bounds[(this.#head + index) * 2 + 1] as number;
  }

  /** Returns the index of the first range that ends after `offset`; `size` when there is none. */
  find(offset: number): number {
    let low = 0;
    let high = this.#size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.end(middle) > offset) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Whether all numbers from `start` to `end` (excluded), which is greater, are in the set. */
  has(start: number, end: number): boolean {
    const index = this.find(start);
    return index < this.#size && this.start(index) <= start && end <= this.end(index);
  }

  add(start: number, end: number): void {
    if (start >= end) return;
    // The new range replaces those that it overlaps or touches.
    const first = this.find(start - 1);
    let last = first;
    let from = start;
    let to = end;
    while (last < this.#size && this.start(last) <= end) {
      from = Math.min(from, this.start(last));
      to = Math.max(to, this.end(last));
      last++;
    }
    this.#replace(first, last, 1);
    this.#set(first, from, to);
  }

  remove(start: number, end: number): void {
    if (start >= end) return;
    const first = this.find(start);
    let last = first;
    while (last < this.#size && this.start(last) < end) last++;
    if (first === last) return;
    const from = this.start(first);
    const to = this.end(last - 1);
    const before = from < start ? 1 : 0;
    const after = to > end ? 1 : 0;
    this.#replace(first, last, before + after);
    if (before > 0) this.#set(first, from, start);
    if (after > 0) this.#set(first + before, end, to);
  }

  clear(): void {
    this.#size = this.#head = 0;
    this.#bounds = NO_BOUNDS;
  }

  #set(index: number, start: number, end: number): void {
    this.#bounds[(this.#head + index) * 2] = start;
    this.#bounds[(this.#head + index) * 2 + 1] = end;
  }

  /** Makes room for `count` ranges instead of those from `first` to `last` (excluded). */
  #replace(first: number, last: number, count: number): void {
    const growth = count - (last - first);
    if (growth === 0) return;
    const size = this.#size;
    const isNearStart = first < size - last;
    const room = isNearStart ? this.#head : this.#bounds.length / 2 - this.#head - size;
    if (room < growth) this.#center(size + growth);
    const head = this.#head;
    if (isNearStart) {
      this.#head = head - growth;
      this.#bounds.copyWithin(this.#head * 2, head * 2, (head + first) * 2);
    } else {
      this.#bounds.copyWithin((head + first + count) * 2, (head + last) * 2, (head + size) * 2);
    }
    this.#size = size + growth;
  }

  /** Moves the ranges to the middle, with room for at least `size`, and as many again. */
  #center(size: number): void {
    const { length } = this.#bounds;
    const held = this.#bounds.subarray(this.#head * 2, (this.#head + this.#size) * 2);
    const bounds =
      length < size * 4 ? new Float64Array(Math.max(FIRST_CAPACITY * 2, length * 2)) : this.#bounds;
    this.#head = (bounds.length / 2 - this.#size) >>> 1;
    bounds.set(held, this.#head * 2);
    this.#bounds = bounds;
  }
}
