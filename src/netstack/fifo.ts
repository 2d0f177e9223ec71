/** Elements in order, from a ring that grows to the most that ever waited: nothing is allocated for each. */
export class Fifo<Item> {
  #ring: (Item | undefined)[] = Array.from<Item | undefined>({ length: 16 });
  #first = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(item: Item): void {
    if (this.#size === this.#ring.length) this.#grow();
    this.#ring[(this.#first + this.#size) & (this.#ring.length - 1)] = item;
    this.#size++;
  }

  /** Puts an element in front. */
  unshift(item: Item): void {
    if (this.#size === this.#ring.length) this.#grow();
    this.#first = (this.#first - 1) & (this.#ring.length - 1);
    this.#ring[this.#first] = item;
    this.#size++;
  }

  peek(): Item | undefined {
    return this.#size === 0 ? undefined : this.#ring[this.#first];
  }

  shift(): Item | undefined {
    if (this.#size === 0) return undefined;
    const item = this.#ring[this.#first];
    this.#ring[this.#first] = undefined;
    this.#first = (this.#first + 1) & (this.#ring.length - 1);
    this.#size--;
    return item;
  }

  clear(): void {
    while (this.#size > 0) this.shift();
  }

  #grow(): void {
    const { length } = this.#ring;
    const next = Array.from<Item | undefined>({ length: 2 * length });
    for (let i = 0; i < this.#size; i++) next[i] = this.#ring[(this.#first + i) & (length - 1)];
    this.#ring = next;
    this.#first = 0;
  }
}
