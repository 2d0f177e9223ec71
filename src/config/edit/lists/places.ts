import type { Span } from '../../../schema/node.ts';
import type { OpenNode, OpenTable } from '../../toml/tree.ts';

/** Returns the end of the last character of a value, with the subtables and dotted keys that belong to it. */
export function contentEnd(node: OpenNode): number {
  let { end } = node.span;
  if (node.kind === 'table') {
    for (const { value } of node.entries.values()) end = Math.max(end, contentEnd(value));
  } else if (node.kind === 'array' && node.madeBy === 'header') {
    for (const item of node.items) end = Math.max(end, contentEnd(item));
  }
  return end;
}

/** Returns the place of a `key = value` by its parts. */
export const pairSpan = (key: Span, value: OpenNode): Span => ({
  start: key.start,
  end: contentEnd(value),
});

/** The ends of the headers and keys of a document. */
export class ContentEnds {
  readonly #ends: readonly number[];

  constructor(root: OpenTable) {
    const ends: number[] = [];
    const collect = (node: OpenNode): void => {
      ends.push(node.span.end);
      if (node.kind === 'array' && node.madeBy === 'header') node.items.forEach(collect);
      if (node.kind !== 'table' || node.madeBy === 'braces') return;
      for (const { value } of node.entries.values()) collect(value);
    };
    collect(root);
    this.#ends = ends.toSorted((a, b) => a - b);
  }

  /** Returns the end of the content before `offset`; 0 if there is none. */
  before(offset: number): number {
    let [low, high] = [0, this.#ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ends[middle] ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return this.#ends[low - 1] ?? 0;
  }
}
