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
