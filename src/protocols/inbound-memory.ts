/**
 * What handlers of one inbound leave to those that replace them. A reload must not make a request
 * acceptable that the handler before it has seen.
 */
export class InboundMemory {
  readonly #kept = new Map<string, object>();

  /** What is kept under a name; made now when there is nothing of that class. */
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
