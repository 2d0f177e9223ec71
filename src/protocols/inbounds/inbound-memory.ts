/**
 * State of one inbound that its successive handlers share: a reload must not make a replayed
 * request acceptable.
 */
export class InboundMemory {
  readonly #kept = new Map<string, object>();

  /** The object kept under a name; a new one when there is none of that class. */
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
