import type { Hits } from './hits.ts';
import type { BlockList } from './network-list.ts';
import { sortBlocks } from './sort-blocks.ts';

/** Blocks of one list. */
export interface BlockSource {
  readonly list: number;
  readonly blocks: BlockList;
}

/** A block that the sweep is inside of. */
interface Open {
  /** The first number behind it; `undefined` at the end of the space. */
  readonly after: Uint32Array | undefined;
  readonly label: number;
  readonly lists: readonly number[];
}

/**
 * Blocks of any number of lists (networks, port ranges), as one sorted row of disjoint ranges.
 *
 * Two blocks are either apart or one inside the other. So the lists at any point are those of the
 * innermost block there and of the blocks around it, and a range needs only a *label*: one list, and
 * the label of what is around. Equal neighbours are merged, and a lookup is a binary search.
 */
export class BlockTable {
  readonly #width: number;
  /** First number of each range, `width` words each; a range reaches to the next one. */
  readonly #starts: Uint32Array;
  readonly #labels: Uint32Array;
  /** Per label: its list, and the label around it. Label 0 is no list. */
  readonly #labelList: Uint32Array;
  readonly #labelAround: Uint32Array;

  /** `width` is the number of 32-bit words: 1, or 4 for IPv6. */
  constructor(width: 1 | 4, sources: readonly BlockSource[]) {
    this.#width = width;
    const sweep = new Sweep(width, sources);
    this.#starts = sweep.starts.slice(0, sweep.ranges * width);
    this.#labels = sweep.labels.slice(0, sweep.ranges);
    this.#labelList = Uint32Array.from(sweep.labelList);
    this.#labelAround = Uint32Array.from(sweep.labelAround);
  }

  /** Ranges that the table holds. */
  get size(): number {
    return this.#labels.length;
  }

  /** Adds the lists that hold this number. */
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

  /** Whether a range starts behind `value`. */
  #isAfter(range: number, value: Uint32Array): boolean {
    for (let word = 0; word < this.#width; word++) {
      const start = this.#starts[range * this.#width + word] ?? 0;
      const wanted = value[word] ?? 0;
      if (start !== wanted) return start > wanted;
    }
    return false;
  }
}

/** Goes once over all blocks in order and writes down where the label changes. */
class Sweep {
  readonly starts: Uint32Array;
  readonly labels: Uint32Array;
  ranges = 0;
  readonly labelList = [0];
  readonly labelAround = [0];
  readonly #width: number;
  readonly #open: Open[] = [];
  /** How many of the open blocks a list has. */
  readonly #active = new Map<number, number>();
  readonly #interned = new Map<number, Map<number, number>>();

  constructor(width: number, sources: readonly BlockSource[]) {
    this.#width = width;
    const { words, prefixes, lists, order } = sortBlocks(width, sources);
    // Each block starts a range and may end one.
    this.starts = new Uint32Array(order.length * 2 * width);
    this.labels = new Uint32Array(order.length * 2);
    for (let at = 0; at < order.length;) {
      const block = order[at] ?? 0;
      const start = words.subarray(block * width, block * width + width);
      const prefix = prefixes[block] ?? 0;
      const members: number[] = [];
      for (; at < order.length; at++) {
        const twin = order[at] ?? 0;
        if (prefixes[twin] !== prefix || !equal(words, twin * width, start)) break;
        members.push(lists[twin] ?? 0);
      }
      this.#closeUntil(start);
      this.#enter(start, prefix, members);
    }
    this.#closeUntil(undefined);
  }

  #enter(start: Uint32Array, prefix: number, lists: readonly number[]): void {
    let label = this.#open.at(-1)?.label ?? 0;
    for (const list of lists) {
      const active = this.#active.get(list) ?? 0;
      if (active === 0) label = this.#intern(list, label);
      this.#active.set(list, active + 1);
    }
    this.#open.push({ after: behind(start, prefix), label, lists });
    this.#emit(start, label);
  }

  /** Leaves every block that ends at or before `next`; all of them at the end of the sweep. */
  #closeUntil(next: Uint32Array | undefined): void {
    for (let last = this.#open.at(-1); last; last = this.#open.at(-1)) {
      const { after, lists } = last;
      if (next && (!after || compare(after, next) > 0)) return;
      this.#open.pop();
      for (const list of lists) this.#active.set(list, (this.#active.get(list) ?? 0) - 1);
      if (after) this.#emit(after, this.#open.at(-1)?.label ?? 0);
    }
  }

  /** From `start` on the label is this one. */
  #emit(start: Uint32Array, label: number): void {
    const last = this.ranges - 1;
    if (last >= 0 && equal(this.starts, last * this.#width, start)) this.ranges = last;
    if ((this.ranges === 0 ? 0 : this.labels[this.ranges - 1]) === label) return;
    this.starts.set(start, this.ranges * this.#width);
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

function equal(words: Uint32Array, at: number, value: Uint32Array): boolean {
  for (let word = 0; word < value.length; word++) {
    if (words[at + word] !== value[word]) return false;
  }
  return true;
}

function compare(a: Uint32Array, b: Uint32Array): number {
  for (let word = 0; word < a.length; word++) {
    const difference = (a[word] ?? 0) - (b[word] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The first number behind a block, `undefined` when it reaches to the end of the space. */
function behind(start: Uint32Array, prefix: number): Uint32Array | undefined {
  if (prefix === 0) return undefined;
  const after = start.slice();
  let word = (prefix - 1) >> 5;
  let carry = 2 ** (word * 32 + 32 - prefix);
  for (; word >= 0; word--) {
    const sum = (after[word] ?? 0) + carry;
    after[word] = sum;
    if (sum < 2 ** 32) return after;
    carry = 1;
  }
  return undefined;
}
