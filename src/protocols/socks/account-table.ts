import { hash, timingSafeEqual } from 'node:crypto';
import type { Account } from '../account.ts';

/** Compared against when the user is unknown, so that this takes the time of a wrong password. */
const NOBODY = Buffer.alloc(32);

const digest = (secret: Uint8Array): Buffer => hash('sha256', secret, 'buffer');
const keyOf = (user: Buffer): string => user.toString('latin1');

/** The accounts of an inbound. Of a repeated user the last entry counts. */
export class AccountTable {
  readonly #accounts = new Map<string, { readonly user: string; readonly pass: Buffer }>();

  constructor(accounts: readonly Account[]) {
    for (const { user, pass } of accounts) {
      this.#accounts.set(keyOf(Buffer.from(user)), { user, pass: digest(Buffer.from(pass)) });
    }
  }

  /** The name of the account that both belong to; `undefined` when there is none. */
  authenticate(user: Buffer, pass: Buffer): string | undefined {
    const account = this.#accounts.get(keyOf(user));
    const matches = timingSafeEqual(digest(pass), account?.pass ?? NOBODY);
    return matches ? account?.user : undefined;
  }
}
