import type { BlockList } from './network-list.ts';
import type { Hits } from '../conditions.ts';

/**
 * Sweeps over all blocks in order and records where the label changes.
 *
 * The enclosing blocks are a stack in typed arrays, at most one per prefix length: an object for each of
 * 300,000 networks would triple the time.
 */
class Sweep {
  readonly starts: Uint32Array;
  readonly labels: Uint32Array;
  ranges = 0;
  readonly labelList = [0];
  readonly labelAround = [0];
  readonly #width: number;
  readonly #blocks: SortedBlocks;
  #depth = 0;
  /** The first number after each open block. */
  readonly #after: Uint32Array;
  readonly #ends: Uint8Array;
  readonly #openLabels: Uint32Array;
  /** The equal blocks of each open block, as a range of the order. */
  readonly #from: Uint32Array;
  readonly #to: Uint32Array;
  /** Number of open blocks of each list. */
  readonly #active: Uint32Array;
  readonly #interned = new Map<number, Map<number, number>>();

  constructor(width: number, sources: readonly BlockSource[]) {
    this.#width = width;
    this.#blocks = sortBlocks(width, sources);
    const { words, prefixes, order } = this.#blocks;
    // Each block starts a range and may end one.
    this.starts = new Uint32Array(order.length * 2 * width);
    this.labels = new Uint32Array(order.length * 2);
    const deepest = width * 32 + 1;
    this.#after = new Uint32Array(deepest * width);
    this.#ends = new Uint8Array(deepest);
    this.#openLabels = new Uint32Array(deepest);
    this.#from = new Uint32Array(deepest);
    this.#to = new Uint32Array(deepest);
    this.#active = new Uint32Array(sources.reduce((most, { list }) => Math.max(most, list + 1), 0));
    for (let from = 0; from < order.length;) {
      const block = order[from] ?? 0;
      const start = block * width;
      const prefix = prefixes[block] ?? 0;
      let to = from + 1;
      for (; to < order.length; to++) {
        const twin = order[to] ?? 0;
        if (prefixes[twin] !== prefix) break;
        if (compare(words, twin * width, words, start, width) !== 0) break;
      }
      this.#leaveUntil(start);
      this.#enter(start, prefix, from, to);
      from = to;
    }
    this.#leaveUntil(undefined);
  }

  /** Enters the equal blocks of a range of the order. @param start position of their words */
  #enter(start: number, prefix: number, from: number, to: number): void {
    const { words, lists, order } = this.#blocks;
    const width = this.#width;
    let label = this.#depth === 0 ? 0 : (this.#openLabels[this.#depth - 1] ?? 0);
    for (let at = from; at < to; at++) {
      const list = lists[order[at] ?? 0] ?? 0;
      const active = this.#active[list] ?? 0;
      if (active === 0) label = this.#intern(list, label);
      this.#active[list] = active + 1;
    }
    const open = this.#depth++;
    for (let word = 0; word < width; word++) {
      this.#after[open * width + word] = words[start + word] ?? 0;
    }
    this.#ends[open] = addBlock(this.#after, open * width, prefix) ? 1 : 0;
    this.#openLabels[open] = label;
    this.#from[open] = from;
    this.#to[open] = to;
    this.#emit(words, start, label);
  }

  /** Leaves every block that ends at or before the number at `next`; at the end of the sweep, leaves all. */
  #leaveUntil(next: number | undefined): void {
    const { words, lists, order } = this.#blocks;
    const width = this.#width;
    while (this.#depth > 0) {
      const open = this.#depth - 1;
      const after = open * width;
      if (next !== undefined) {
        if (this.#ends[open] === 0) return;
        if (compare(this.#after, after, words, next, width) > 0) return;
      }
      this.#depth = open;
      for (let at = this.#from[open] ?? 0; at < (this.#to[open] ?? 0); at++) {
        const list = lists[order[at] ?? 0] ?? 0;
        this.#active[list] = (this.#active[list] ?? 0) - 1;
      }
      if (this.#ends[open] === 0) continue;
      this.#emit(this.#after, after, open === 0 ? 0 : (this.#openLabels[open - 1] ?? 0));
    }
  }

  /** Starts a range with this label at the number at `start`. */
  #emit(words: Uint32Array, start: number, label: number): void {
    const width = this.#width;
    const last = this.ranges - 1;
    if (last >= 0 && compare(this.starts, last * width, words, start, width) === 0) {
      this.ranges = last;
    }
    if ((this.ranges === 0 ? 0 : this.labels[this.ranges - 1]) === label) return;
    for (let word = 0; word < width; word++) {
      this.starts[this.ranges * width + word] = words[start + word] ?? 0;
    }
    this.labels[this.ranges++] = label;
  }

  #intern(list: number, around: number): number {
    let byAround = this.#interned.get(list);
    if (!byAround) this.#interned.set(list, (byAround = new Map()));
    let label = byAround.get(around);
    if (label === undefined) {
      label = this.labelList.push(list) - 1;
      this.labelAround.push(around);
      byAround.set(around, label);
    }
    return label;
  }
}

/** Compares two numbers of `width` words. */
function compare(a: Uint32Array, at: number, b: Uint32Array, bt: number, width: number): number {
  for (let word = 0; word < width; word++) {
    const difference = (a[at + word] ?? 0) - (b[bt + word] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Advances from the start of a block to the first number after it; returns false at the end of the numbers. */
function addBlock(words: Uint32Array, at: number, prefix: number): boolean {
  if (prefix === 0) return false;
  let word = (prefix - 1) >> 5;
  let carry = 2 ** (word * 32 + 32 - prefix);
  for (; word >= 0; word--) {
    const sum = (words[at + word] ?? 0) + carry;
    words[at + word] = sum;
    if (sum < 2 ** 32) return true;
    carry = 1;
  }
  return false;
}

/** Blocks of one list. */
interface BlockSource {
  readonly list: number;
  readonly blocks: BlockList;
}

/** Blocks of several lists, one after the other, and their order. */
interface SortedBlocks {
  readonly words: Uint32Array;
  readonly prefixes: Uint8Array;
  readonly lists: Uint32Array;
  /** Positions of the blocks, sorted by start, then outer before inner blocks, then by list. */
  readonly order: Uint32Array;
}

/** Joins and sorts blocks, by radix: 300,000 networks take a few milliseconds, and 20 times that with a comparator. */
function sortBlocks(width: number, sources: readonly BlockSource[]): SortedBlocks {
  let count = 0;
  for (const { blocks } of sources) count += blocks.prefixes.length;
  const words = new Uint32Array(count * width);
  const prefixes = new Uint8Array(count);
  const lists = new Uint32Array(count);
  let used = 0;
  for (const { list, blocks } of sources) {
    words.set(blocks.words, used * width);
    prefixes.set(blocks.prefixes, used);
    lists.fill(list, used, used + blocks.prefixes.length);
    used += blocks.prefixes.length;
  }
  let order = Uint32Array.from({ length: count }, (_, index) => index);
  // From the least significant digit on; each pass is stable.
  order = sortPass(order, (index) => prefixes[index] ?? 0);
  for (let word = width - 1; word >= 0; word--) {
    for (let shift = 0; shift < 32; shift += 8) {
      order = sortPass(order, (index) => ((words[index * width + word] ?? 0) >>> shift) & 0xff);
    }
  }
  return { words, prefixes, lists, order };
}

/** Performs one stable counting pass over a digit of 8 bits. */
function sortPass(
  order: Uint32Array<ArrayBuffer>,
  digit: (index: number) => number,
): Uint32Array<ArrayBuffer> {
  const places = new Uint32Array(0x101);
  for (const index of order) {
    const next = digit(index) + 1;
    places[next] = (places[next] ?? 0) + 1;
  }
  // All blocks have the same digit.
  if (places.includes(order.length)) return order;
  for (let value = 1; value < places.length; value++) {
    places[value] = (places[value] ?? 0) + (places[value - 1] ?? 0);
  }
  const sorted = new Uint32Array(order.length);
  for (const index of order) {
    const value = digit(index);
    const place = places[value] ?? 0;
    sorted[place] = index;
    places[value] = place + 1;
  }
  return sorted;
}

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
