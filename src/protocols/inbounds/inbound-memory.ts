/**
 * State that the handlers of one inbound keep across reloads: a reload must not make the replay of a
 * request acceptable.
 */
export class InboundMemory {
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
