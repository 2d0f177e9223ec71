import type { Steps } from '../../net/time/turns.ts';

/**
 * What was derived from the secrets of an inbound's users, by secret. Kept in the inbound's memory,
 * so that a reload derives only what is new. Holds no more than the last list of users needs.
 */
export class DerivedUsers<Derived> {
  readonly #derive: (secret: string) => Derived;
  #kept: ReadonlyMap<string, Derived> = new Map();

  /** @param derive its result depends only on the secret. */
  constructor(derive: (secret: string) => Derived) {
    this.#derive = derive;
  }

  /** What is derived from `secrets`, in their order; everything else is forgotten at the end. */
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
