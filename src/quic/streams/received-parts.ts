import { RangeSet } from '../../collections/range-set.ts';

/** Ranges of one block beyond which a bitmap of its bytes takes less work and, soon, less memory. */
const MOST_RANGES = 16;

/**
 * The bytes of a block that were received out of order, by their offsets in the block. After a loss or a reordering
 * these are one range or two, so ranges are kept, and a bitmap only for a block with many gaps. A change takes no more
 * work than `MOST_RANGES` ranges or its own bytes do, however a peer cuts its frames.
 */
export class ReceivedParts {
  readonly #size: number;
  readonly #ranges = new RangeSet();
  #bits: Uint32Array | undefined;
  #end = 0;

  /** @param size the size of the block in bytes, a multiple of 32. */
  constructor(size: number) {
    this.#size = size;
  }

  /** The end of the last byte that was received. */
  get end(): number {
    return this.#end;
  }

  /** Memory of the bitmap in bytes, if there is one. */
  get memory(): number {
    return this.#bits?.byteLength ?? 0;
  }

  /** Adds the bytes from `start` to `end` (excluded), which is greater. */
  add(start: number, end: number): void {
    this.#end = Math.max(this.#end, end);
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
