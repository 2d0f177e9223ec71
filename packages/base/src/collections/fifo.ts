const FIRST_CAPACITY = 8;
/** Items that a drained ring may have room for; a larger one is released. */
const KEPT_CAPACITY = 128;

/** A queue as a ring buffer that doubles, and that allocates nothing before its first item. */
export class Fifo<Item> {
  /** The ring: its length is a power of two, or 0. */
  #items: (Item | undefined)[] = [];
  #head = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(item: Item): void {
    if (this.#size === this.#items.length) this.#grow();
    this.#items[(this.#head + this.#size++) & (this.#items.length - 1)] = item;
  }

  peek(): Item | undefined {
    return this.#items[this.#head];
  }

  /** Returns the item at `index`, which is below `size`, counted from the head. */
  at(index: number): Item | undefined {
    return this.#items[(this.#head + index) & (this.#items.length - 1)];
  }

  shift(): Item | undefined {
    if (this.#size === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#items.length - 1);
    if (--this.#size === 0 && this.#items.length > KEPT_CAPACITY) this.clear();
    return item;
  }

  clear(): void {
    this.#items = [];
    this.#head = 0;
    this.#size = 0;
  }

  #grow(): void {
    const items = Array.from<Item | undefined>({
      length: Math.max(FIRST_CAPACITY, this.#size * 2),
    });
    for (let i = 0; i < this.#size; i++) items[i] = this.at(i);
    this.#items = items;
    this.#head = 0;
  }
}
