/** Objects that outlive those that use them, each under a name. */
export class KeptObjects {
  readonly #kept = new Map<string, object>();

  /** The object kept under a name; made when there is none of that class. */
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
