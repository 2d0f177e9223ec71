/** Lists of numbers, one after the other in one array, which is transferred without a copy. */
export interface PackedLists {
  readonly items: Uint32Array;
  /** End of each list in `items`; a list starts where the previous one ends. */
  readonly ends: Uint32Array;
}

/**
 * Packs lists.
 * @param lists `undefined` stands for an empty one.
 */
export function packLists(lists: Iterable<readonly number[] | undefined>): PackedLists {
  const items: number[] = [];
  const ends: number[] = [];
  for (const list of lists) {
    for (const item of list ?? []) items.push(item);
    ends.push(items.length);
  }
  return { items: Uint32Array.from(items), ends: Uint32Array.from(ends) };
}
