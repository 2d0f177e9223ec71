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

/** Counts the holders of some work, which starts with the first hold and stops after the last. */
export class Holds {
  readonly #start: () => void;
  readonly #stop: () => void;
  #count = 0;

  constructor(start: () => void, stop: () => void) {
    this.#start = start;
    this.#stop = stop;
  }

  get isHeld(): boolean {
    return this.#count > 0;
  }

  /** Adds a hold until it is disposed; a second disposal has no effect. */
  hold(): Disposable {
    if (this.#count++ === 0) this.#start();
    let isOver = false;
    return {
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        if (--this.#count === 0) this.#stop();
      },
    };
  }
}

/** Objects that outlive their users, each under a name. */
export class KeptObjects {
  readonly #kept = new Map<string, object>();

  /** Returns the object kept under a name; created if there is none of that class. */
  recall<T extends object>(
    name: string,
    kind: abstract new (...args: never[]) => T,
    make: () => T,
  ): T {
    const kept = this.#kept.get(name);
    if (kept instanceof kind) return kept;
    const made = make();
    this.#kept.set(name, made);
    return made;
  }
}

/** Functions without arguments that are called after changes of an object. */
export class Listeners {
  readonly #calls = new Set<() => void>();

  /** Adds a listener. Each call adds a separate one, even for the same function, until it is disposed of. */
  add(listener: () => void): Disposable {
    const own = (): void => listener();
    this.#calls.add(own);
    return { [Symbol.dispose]: () => void this.#calls.delete(own) };
  }

  call(): void {
    for (const call of this.#calls) call();
  }
}
