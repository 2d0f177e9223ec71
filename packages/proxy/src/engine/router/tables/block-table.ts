import type { Hits } from '../conditions.ts';
import { type BlockSource, Sweep } from './sweep-blocks.ts';

/** A table as plain data. */
export interface BlockTableData {
  readonly width: 1 | 4;
  /** The first number of each range, in `width` words; a range ends where the next one starts. */
  readonly starts: Uint32Array;
  readonly labels: Uint32Array;
  /** The list of each label; `labelAround` is the enclosing label. Label 0 stands for no list. */
  readonly labelList: Uint32Array;
  readonly labelAround: Uint32Array;
}

/**
 * Blocks of any number of lists (networks, port ranges), as one sorted array of disjoint ranges.
 *
 * Two blocks are either disjoint or nested. The lists of a number are thus those of the innermost block that
 * contains it and of the enclosing blocks, and a range needs only a *label*: one list, and the label of the
 * enclosing block. Adjacent ranges with equal labels are merged; a lookup is a binary search.
 */
export class BlockTable {
  readonly data: BlockTableData;
  readonly #width: number;
  readonly #starts: Uint32Array;
  readonly #labels: Uint32Array;
  readonly #labelList: Uint32Array;
  readonly #labelAround: Uint32Array;

  /**
   * @param width the number of 32-bit words: 1, or 4 for IPv6
   * @param sources the blocks, or the data of a table of that width
   */
  constructor(width: 1 | 4, sources: readonly BlockSource[] | BlockTableData) {
    this.data = 'width' in sources ? sources : sweepOver(width, sources);
    this.#width = width;
    this.#starts = this.data.starts;
    this.#labels = this.data.labels;
    this.#labelList = this.data.labelList;
    this.#labelAround = this.data.labelAround;
  }

  /** Number of ranges. */
  get size(): number {
    return this.#labels.length;
  }

  /** Adds the lists that contain this number. */
  match(value: Uint32Array, hits: Hits): void {
    let low = 0;
    let high = this.#labels.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#isAfter(middle, value)) high = middle;
      else low = middle + 1;
    }
    let label = low === 0 ? 0 : (this.#labels[low - 1] ?? 0);
    for (; label !== 0; label = this.#labelAround[label] ?? 0)
      hits.add(this.#labelList[label] ?? 0);
  }

  /** Whether a range starts after `value`. */
  #isAfter(range: number, value: Uint32Array): boolean {
    for (let word = 0; word < this.#width; word++) {
      const start = this.#starts[range * this.#width + word] ?? 0;
      const wanted = value[word] ?? 0;
      if (start !== wanted) return start > wanted;
    }
    return false;
  }
}

function sweepOver(width: 1 | 4, sources: readonly BlockSource[]): BlockTableData {
  const sweep = new Sweep(width, sources);
  return {
    width,
    starts: sweep.starts.slice(0, sweep.ranges * width),
    labels: sweep.labels.slice(0, sweep.ranges),
    labelList: Uint32Array.from(sweep.labelList),
    labelAround: Uint32Array.from(sweep.labelAround),
  };
}
