/** Something that keeps idle connections, which a reload may make obsolete. */
export interface KeepsIdle {
  /** Closes the idle connections whose outbound or route has changed. */
  renew(): void;
  /** Closes all idle connections: the proxy stops, and does not wait for them. */
  closeIdle(): void;
}

/** The agents and dispatchers of a running proxy, for as long as the host program refers to them. */
export class Renewals {
  readonly #members = new Set<WeakRef<KeepsIdle>>();
  readonly #collected = new FinalizationRegistry<WeakRef<KeepsIdle>>((member) => {
    this.#members.delete(member);
  });

  add(member: KeepsIdle): void {
    const reference = new WeakRef(member);
    this.#members.add(reference);
    this.#collected.register(member, reference);
  }

  /** Called after a reload that has changed something. */
  renew(): void {
    for (const member of this.#members) member.deref()?.renew();
  }

  closeIdle(): void {
    for (const member of this.#members) member.deref()?.closeIdle();
  }
}
