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
