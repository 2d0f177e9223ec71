import { RangeSet, copyBytes } from '@weir/base/bytes';
import { MAX_RANGES, OUT_OF_ORDER_BLOCK } from '../limits.ts';
import { MAX_SACK_BLOCKS } from '../wire/tcp.ts';

/**
 * Data received out of order. Each byte is copied once, to its place in a block by stream offset, so no
 * fragments are kept: memory is bounded by the window, and the number of ranges by `MAX_RANGES`. A segment
 * costs a binary search, and moving the bounds of the ranges after it.
 */
export class OutOfOrder {
  readonly #blocks = new Map<number, Uint8Array>();
  readonly #ranges = new RangeSet();
  /** An offset in each of the ranges that changed last, the most recent first (RFC 2018 §4). */
  readonly #recent = new Float64Array(MAX_SACK_BLOCKS).fill(-1);

  get isEmpty(): boolean {
    return this.#ranges.size === 0;
  }

  /** Number of ranges, for tests of its bound. */
  get ranges(): number {
    return this.#ranges.size;
  }

  /** Memory in bytes. */
  get memory(): number {
    return this.#blocks.size * OUT_OF_ORDER_BLOCK;
  }

  /** Start of the first range; only if there is one. */
  get firstStart(): number {
    return this.#ranges.start(0);
  }

  get firstEnd(): number {
    return this.#ranges.end(0);
  }

  /** Whether all of a range has arrived. */
  has(start: number, end: number): boolean {
    return this.#ranges.has(start, end);
  }

  /** Copies the bytes from `at` on to the offsets `start` to `end`. Returns false if there are too many ranges. */
  insert(start: number, end: number, bytes: Uint8Array, at: number): boolean {
    const ranges = this.#ranges;
    if (ranges.size >= MAX_RANGES) {
      const next = ranges.find(start - 1);
      // Only data that extends an existing range is accepted.
      if (next === ranges.size || ranges.start(next) > end) return false;
    }
    for (let from = start; from < end;) {
      const blockStart = from - (from % OUT_OF_ORDER_BLOCK);
      const count = Math.min(end, blockStart + OUT_OF_ORDER_BLOCK) - from;
      copyBytes(bytes, at + from - start, count, this.#block(blockStart), from - blockStart);
      from += count;
    }
    ranges.add(start, end);
    this.#remember(start);
    return true;
  }

  /**
   * Removes bytes from the first range, which is now in order: from `offset` to the end of their block or of the
   * range. The caller owns them: nothing else is written to that block.
   */
  take(offset: number): Uint8Array {
    const blockStart = offset - (offset % OUT_OF_ORDER_BLOCK);
    const end = Math.min(this.firstEnd, blockStart + OUT_OF_ORDER_BLOCK);
    const chunk = this.#block(blockStart).subarray(offset - blockStart, end - blockStart);
    this.forget(end);
    return chunk;
  }

  /** Removes everything below `offset`, which is in order. */
  forget(offset: number): void {
    const ranges = this.#ranges;
    const blockStart = offset - (offset % OUT_OF_ORDER_BLOCK);
    while (ranges.size > 0 && ranges.start(0) < offset) {
      const from = ranges.start(0);
      const until = Math.min(ranges.end(0), offset);
      for (let at = from - (from % OUT_OF_ORDER_BLOCK); at < until; at += OUT_OF_ORDER_BLOCK) {
        if (at < blockStart) this.#blocks.delete(at);
      }
      ranges.remove(from, until);
    }
    if (ranges.size === 0) {
      this.#blocks.clear();
      this.#recent.fill(-1);
    } else if (ranges.start(0) >= blockStart + OUT_OF_ORDER_BLOCK) {
      this.#blocks.delete(blockStart);
    }
  }

  clear(): void {
    this.#ranges.clear();
    this.#blocks.clear();
    this.#recent.fill(-1);
  }

  /**
   * Writes ranges for a SACK option: the most recently changed one first, no range twice (RFC 2018 §4).
   * @param blocks start and end alternately; filled from pair `count` up to pair `limit`.
   * @returns the number of pairs in `blocks`.
   */
  report(blocks: Float64Array, count: number, limit: number): number {
    const ranges = this.#ranges;
    let next = count;
    for (const offset of this.#recent) {
      if (next >= limit || offset < 0) break;
      const index = ranges.find(offset);
      if (index === ranges.size || ranges.start(index) > offset) continue;
      const start = ranges.start(index);
      let isNew = true;
      for (let i = count; i < next; i++) if (blocks[i * 2] === start) isNew = false;
      if (!isNew) continue;
      blocks[next * 2] = start;
      blocks[next * 2 + 1] = ranges.end(index);
      next++;
    }
    return next;
  }

  #remember(offset: number): void {
    const ranges = this.#ranges;
    const recent = this.#recent;
    const index = ranges.find(offset);
    // Replaces an older offset of the same range, otherwise the last one.
    let free = MAX_SACK_BLOCKS - 1;
    for (let i = 0; i < MAX_SACK_BLOCKS; i++) {
      const other = recent[i] as number; // within, here and below
      if (other < 0 || ranges.find(other) === index) {
        free = i;
        break;
      }
    }
    recent.copyWithin(1, 0, free);
    recent[0] = offset;
  }

  #block(start: number): Uint8Array {
    let block = this.#blocks.get(start);
    if (!block) {
      block = Buffer.allocUnsafeSlow(OUT_OF_ORDER_BLOCK);
      this.#blocks.set(start, block);
    }
    return block;
  }
}
