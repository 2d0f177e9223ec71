/**
 * Which lists a value is in: what a table finds, and what conditions ask.
 *
 * Lists are small numbers. One object serves query after query, so that a lookup allocates nothing.
 */
export class Hits {
  /** The lists, each once, in no special order. */
  readonly lists: number[] = [];
  readonly #marks: Uint8Array;

  /** `size` is one more than the highest list. */
  constructor(size: number) {
    this.#marks = new Uint8Array(size);
  }

  add(list: number): void {
    if (this.#marks[list] === 1) return;
    this.#marks[list] = 1;
    this.lists.push(list);
  }

  has(list: number): boolean {
    return this.#marks[list] === 1;
  }

  clear(): void {
    for (const list of this.lists) this.#marks[list] = 0;
    this.lists.length = 0;
  }
}
