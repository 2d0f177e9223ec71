import { hash, timingSafeEqual } from 'node:crypto';
import type { Steps } from '../net/turns.ts';

/** A user name with its password, as the `accounts` of several inbounds have it. */
export interface Account {
  readonly user: string;
  readonly pass: string;
}

const digest = (secret: Uint8Array): Buffer => hash('sha256', secret, 'buffer');
const keyOf = (user: Buffer): string => user.toString('latin1');

/** Compared against when the user is unknown, so that this takes the time of a wrong password. */
const NO_PASSWORD = Buffer.alloc(32);

/** The accounts of an inbound. Of a repeated user the last entry counts. */
export class AccountTable {
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
   * Compares byte for byte, the password in constant time.
   * @returns the name of the user, `undefined` when it is unknown or the password is wrong.
   */
  authenticate(user: Buffer, pass: Buffer): string | undefined {
    const account = this.#accounts.get(keyOf(user));
    const matches = timingSafeEqual(digest(pass), account?.pass ?? NO_PASSWORD);
    return matches ? account?.user : undefined;
  }
}
