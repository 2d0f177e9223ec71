import type { Turns } from '../net/turns.ts';

/**
 * What was derived of the secrets of an inbound's users, by secret. Kept in its memory, so that a
 * reload derives only what is new, and in turns.
 *
 * Holds what the last two user sets need at most: that of the newest handler, and one in preparation.
 */
export class DerivedUsers<Derived> {
  readonly #derive: (secret: string) => Derived;
  #kept: ReadonlyMap<string, Derived> = new Map();
  #prepared: ReadonlyMap<string, Derived> = new Map();

  /** @param derive depends on nothing but the secret. */
  constructor(derive: (secret: string) => Derived) {
    this.#derive = derive;
  }

  /** Derives what `take` will be asked for, giving way to everything else. */
  async prepare(secrets: Iterable<string>, turns: Turns): Promise<void> {
    const prepared = new Map<string, Derived>();
    this.#prepared = prepared;
    for (const secret of secrets) {
      prepared.set(secret, this.#of(secret));
      if (turns.due) await turns.next();
    }
  }

  /** What is derived of these, in their order; all others are forgotten. */
  take(secrets: Iterable<string>): readonly Derived[] {
    const taken = new Map<string, Derived>();
    const list = Array.from(secrets, (secret) => {
      const derived = taken.get(secret) ?? this.#of(secret);
      taken.set(secret, derived);
      return derived;
    });
    this.#kept = taken;
    this.#prepared = new Map();
    return list;
  }

  #of(secret: string): Derived {
    return this.#kept.get(secret) ?? this.#prepared.get(secret) ?? this.#derive(secret);
  }
}
