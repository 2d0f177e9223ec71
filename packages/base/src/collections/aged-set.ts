interface Entry<Item> {
  readonly item: Item;
  older: Entry<Item> | undefined;
  newer: Entry<Item> | undefined;
}

/**
 * A set that returns its oldest element in constant time. The iterator of a `Set` used as a queue skips
 * all elements removed since its table was built: some 40 microseconds for 32,768 elements.
 */
export class AgedSet<Item> {
  readonly #entries = new Map<Item, Entry<Item>>();
  #oldest: Entry<Item> | undefined;
  #newest: Entry<Item> | undefined;

  get size(): number {
    return this.#entries.size;
  }

  get oldest(): Item | undefined {
    return this.#oldest?.item;
  }

  /** Adds an element that is not in the set, as its newest. */
  add(item: Item): void {
    const entry: Entry<Item> = { item, older: this.#newest, newer: undefined };
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
    this.#entries.set(item, entry);
  }

  /** @returns whether the element was in the set. */
  delete(item: Item): boolean {
    const entry = this.#entries.get(item);
    if (entry === undefined) return false;
    const { older, newer } = entry;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    this.#entries.delete(item);
    return true;
  }
}
