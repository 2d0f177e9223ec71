import { hash } from 'node:crypto';
import type { TrojanUser } from './settings.ts';
import { keyOf } from './wire.ts';

/** A user who was found. */
export interface FoundUser {
  /** The label of the user's flows; `undefined` when the file gives none. */
  readonly label: string | undefined;
}

/**
 * The users of an inbound by the keys that they send. Of two with one password the later counts.
 *
 * The table holds digests of keys, so that how long a search takes tells nothing about a key: who
 * presents one does not choose the digest that is compared.
 */
export class UserTable {
  readonly #users = new Map<string, FoundUser>();

  constructor(users: readonly TrojanUser[]) {
    for (const { password, email } of users) {
      this.#users.set(digestOf(keyOf(password)), { label: email === '' ? undefined : email });
    }
  }

  find(key: Uint8Array): FoundUser | undefined {
    return this.#users.get(digestOf(key));
  }
}

const digestOf = (key: Uint8Array): string => hash('sha256', key);
