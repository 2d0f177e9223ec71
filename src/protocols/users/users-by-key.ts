import { hash } from 'node:crypto';
import type { Steps } from '../../net/time/turns.ts';
import type { AcceptedAccounts, AuthenticatedUser } from './standing.ts';

/**
 * The users of an inbound whose clients send a key that identifies and authenticates them. Of users
 * with the same key the last counts.
 *
 * The table holds digests of keys, so that the time of a look-up reveals nothing about a key: a
 * client cannot choose the digest that is compared.
 */
export class UsersByKey implements AcceptedAccounts {
  /** The users by their credentials, which are the digests of the keys. */
  readonly #users = new Map<string, AuthenticatedUser>();

  private constructor() {}

  /** Creates the table in steps, since the number of users is unlimited. */
  static *of<User>(
    users: readonly User[],
    keyOf: (user: User) => Uint8Array,
    labelOf: (user: User) => string | undefined = () => undefined,
  ): Steps<UsersByKey> {
    const table = new UsersByKey();
    for (const user of users) {
      const credential = digestOf(keyOf(user));
      table.#users.set(credential, { label: labelOf(user), credential });
      yield;
    }
    return table;
  }

  find(key: Uint8Array): AuthenticatedUser | undefined {
    return this.#users.get(digestOf(key));
  }

  accepts(credential: string): boolean {
    return this.#users.has(credential);
  }
}

const digestOf = (key: Uint8Array): string => hash('sha256', key);
