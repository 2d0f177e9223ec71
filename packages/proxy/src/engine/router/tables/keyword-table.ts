import { packLists } from './packing.ts';
import type { Hits } from '../conditions.ts';

/** A keyword and the lists that it is in. */
export interface Keyword {
  /** The keyword in UTF-8: lower case, not empty. */
  readonly bytes: Uint8Array;
  readonly lists: readonly number[];
}

/** A table as plain data; see the fields of the same names. */
export interface KeywordTableData {
  readonly columns: Uint8Array;
  readonly width: number;
  readonly steps: Int32Array;
  readonly ends: Uint32Array;
  readonly lists: Uint32Array;
  readonly shorter: Int32Array;
}

/**
 * All keywords as one automaton (Aho and Corasick, 1975): one step per byte of the name, whatever the number
 * of keywords.
 *
 * Bytes that occur in no keyword share one column of the transition table, which leads to the root.
 */
export class KeywordTable {
  /** The column of each byte; column 0 is every byte that occurs in no keyword. */
  readonly #columns: Uint8Array;
  readonly #width: number;
  /** The next state, indexed by state times `width` plus column. */
  readonly #steps: Int32Array;
  /**
   * End of the lists of the keyword that ends at a state, in `#lists`; they start where those of the
   * previous state end.
   */
  readonly #ends: Uint32Array;
  readonly #lists: Uint32Array;
  /** Longest proper suffix of each state at which a keyword ends, or 0. */
  readonly #shorter: Int32Array;

  /** @param keywords the keywords, or the data of a table */
  constructor(keywords: readonly Keyword[] | KeywordTableData) {
    if ('columns' in keywords) {
      this.#columns = keywords.columns;
      this.#width = keywords.width;
      this.#steps = keywords.steps;
      this.#ends = keywords.ends;
      this.#lists = keywords.lists;
      this.#shorter = keywords.shorter;
      return;
    }
    this.#columns = new Uint8Array(256);
    let columns = 1;
    let bytes = 0;
    for (const keyword of keywords) {
      bytes += keyword.bytes.length;
      for (const byte of keyword.bytes) this.#columns[byte] ||= columns++;
    }
    this.#width = columns;
    const steps = new Int32Array((bytes + 1) * columns);
    const { states, listsOf } = this.#plant(keywords, steps);
    this.#steps = steps.slice(0, states * columns);
    const packed = packLists(Array.from({ length: states }, (_, state) => listsOf.get(state)));
    this.#ends = packed.ends;
    this.#lists = packed.items;
    this.#shorter = new Int32Array(states);
    this.#link(states);
  }

  get data(): KeywordTableData {
    return {
      columns: this.#columns,
      width: this.#width,
      steps: this.#steps,
      ends: this.#ends,
      lists: this.#lists,
      shorter: this.#shorter,
    };
  }

  /** Adds the lists of every keyword that occurs in the first `length` bytes. */
  match(name: Uint8Array, length: number, hits: Hits): void {
    let state = 0;
    for (let at = 0; at < length; at++) {
      const column = this.#columns[name[at] ?? 0] ?? 0;
      state = this.#steps[state * this.#width + column] ?? 0;
      for (let end = state; end !== 0; end = this.#shorter[end] ?? 0) {
        const last = this.#ends[end] ?? 0;
        for (let i = this.#ends[end - 1] ?? 0; i < last; i++) hits.add(this.#lists[i] ?? 0);
      }
    }
  }

  /** Builds the trie of keywords; returns the number of states, and the lists by final state. */
  #plant(
    keywords: readonly Keyword[],
    steps: Int32Array,
  ): { readonly states: number; readonly listsOf: ReadonlyMap<number, readonly number[]> } {
    let states = 1;
    const listsOf = new Map<number, readonly number[]>();
    for (const { bytes, lists } of keywords) {
      let state = 0;
      for (const byte of bytes) {
        const step = state * this.#width + (this.#columns[byte] ?? 0);
        state = steps[step] ||= states++;
      }
      listsOf.set(state, [...(listsOf.get(state) ?? []), ...lists]);
    }
    return { states, listsOf };
  }

  /** Whether a keyword ends at this state; none ends at the root. */
  #isEnd(state: number): boolean {
    return state > 0 && (this.#ends[state] ?? 0) > (this.#ends[state - 1] ?? 0);
  }

  /**
   * Adds the missing transitions, level by level: where a state has no child, it gets the transition of its
   * longest proper suffix.
   */
  #link(states: number): void {
    const width = this.#width;
    const suffix = new Int32Array(states);
    const queue = [0];
    for (const state of queue) {
      const fallback = suffix[state] ?? 0;
      this.#shorter[state] = this.#isEnd(fallback) ? fallback : (this.#shorter[fallback] ?? 0);
      for (let column = 1; column < width; column++) {
        const otherwise = state === 0 ? 0 : (this.#steps[fallback * width + column] ?? 0);
        const child = this.#steps[state * width + column] ?? 0;
        if (child === 0) {
          this.#steps[state * width + column] = otherwise;
        } else {
          suffix[child] = otherwise;
          queue.push(child);
        }
      }
    }
  }
}
