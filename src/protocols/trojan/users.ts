import { hash } from 'node:crypto';
import type { Steps } from '../../net/time/turns.ts';
import type { AcceptedAccounts } from '../users/standing.ts';
import type { TrojanUser } from './settings.ts';

/** What a client sends in place of its password: SHA-224 in lower-case hex. */
export const keyOf = (password: string): Buffer => Buffer.from(hash('sha224', password), 'latin1');

/** A user that authenticated. */
export interface AuthenticatedUser {
  /** The label of the user's flows; `undefined` when the file gives none. */
  readonly label: string | undefined;
  /** What the server keeps of the user's key. */
  readonly credential: string;
}

/**
 * The users of an inbound by the keys that they send. Of two with one password the later counts.
 *
 * The table holds digests of keys, so that the time of a look-up reveals nothing about a key: a
 * client that presents one does not choose the digest that is compared.
 */
export class UserTable implements AcceptedAccounts {
  readonly #users = new Map<string, AuthenticatedUser>();

  private constructor() {}

  static *of(users: readonly TrojanUser[]): Steps<UserTable> {
    const table = new UserTable();
    for (const { password, email } of users) {
      const credential = digestOf(keyOf(password));
      table.#users.set(credential, { label: email === '' ? undefined : email, credential });
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
