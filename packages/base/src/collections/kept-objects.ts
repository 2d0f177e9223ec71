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
