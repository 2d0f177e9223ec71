import type { Steps } from '../../net/time/turns.ts';

/**
 * Values derived from the secrets of an inbound's users, by secret. They are kept in the inbound's memory, so that a
 * reload derives only those of new users, and forgotten once the last list of users does not need them.
 */
export class DerivedUsers<Derived> {
  readonly #derive: (secret: string) => Derived;
  #kept: ReadonlyMap<string, Derived> = new Map();

  /** @param derive its result must depend only on the secret. */
  constructor(derive: (secret: string) => Derived) {
    this.#derive = derive;
  }

  /** The values derived from `secrets`, in their order; all others are forgotten at the end. */
  *take(secrets: Iterable<string>): Steps<readonly Derived[]> {
    const taken = new Map<string, Derived>();
    const list: Derived[] = [];
    for (const secret of secrets) {
      const derived = taken.get(secret) ?? this.#kept.get(secret) ?? this.#derive(secret);
      taken.set(secret, derived);
      list.push(derived);
      yield;
    }
    this.#kept = taken;
    return list;
  }
}
