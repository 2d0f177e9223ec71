import { hash, timingSafeEqual } from 'node:crypto';
import type { Steps } from '@weir/io/time';
import type { AcceptedAccounts, AuthenticatedUser } from './accounts.ts';

/** An entry of `accounts`, or the login of an outbound. */
export interface Account {
  readonly user: string;
  readonly pass: string;
}

const DIGEST_BYTES = 32;
const digest = (secret: Uint8Array): Buffer => hash('sha256', secret, 'buffer');
const keyOf = (user: Buffer): string => user.toString('latin1');

/** Compared against when the user is unknown, so that the comparison takes as long as for a wrong password. */
const NO_PASSWORD = Buffer.alloc(DIGEST_BYTES);

/** The accounts of an inbound. Of entries with the same user the last counts. */
export class AccountTable implements AcceptedAccounts {
  readonly #accounts = new Map<string, { readonly user: string; readonly pass: Buffer }>();

  private constructor() {}

  static *of(accounts: readonly Account[]): Steps<AccountTable> {
    const table = new AccountTable();
    for (const { user, pass } of accounts) {
      table.#accounts.set(keyOf(Buffer.from(user)), { user, pass: digest(Buffer.from(pass)) });
      yield;
    }
    return table;
  }

  /**
   * Authenticates by user name and password, compared byte for byte, the password in constant time.
   * @returns `undefined` when the user is unknown or the password is wrong.
   */
  authenticate(user: Buffer, pass: Buffer): AuthenticatedUser | undefined {
    const key = keyOf(user);
    const account = this.#accounts.get(key);
    const sent = digest(pass);
    const matches = timingSafeEqual(sent, account?.pass ?? NO_PASSWORD);
    if (!matches || !account) return undefined;
    return { label: account.user, credential: sent.toString('latin1') + key };
  }

  accepts(credential: string): boolean {
    const account = this.#accounts.get(credential.slice(DIGEST_BYTES));
    const pass = Buffer.from(credential.slice(0, DIGEST_BYTES), 'latin1');
    return account !== undefined && timingSafeEqual(account.pass, pass);
  }
}

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
    nameOf: (user: User) => Partial<Pick<AuthenticatedUser, 'label' | 'id'>> = () => ({}),
  ): Steps<UsersByKey> {
    const table = new UsersByKey();
    for (const user of users) {
      const credential = digestOf(keyOf(user));
      const { label, id } = nameOf(user);
      table.#users.set(credential, { label, id, credential });
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
