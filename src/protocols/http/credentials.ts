import { createHash, timingSafeEqual } from 'node:crypto';
import type { Account } from '../account.ts';
import { valuesOf, type Fields } from './fields.ts';

/** The value of `Proxy-Authorization` for an account (RFC 7617 §2). */
export const basicCredentials = ({ user, pass }: Account): string =>
  `Basic ${Buffer.from(`${user}:${pass}`).toString('base64')}`;

const NOBODY = digest(Buffer.alloc(0));

/** Tells users apart by `Proxy-Authorization: Basic`; compared byte for byte, in constant time. */
export class Credentials {
  /** By the bytes of the user's name in latin1. */
  readonly #accounts = new Map<string, { readonly user: string; readonly pass: Buffer }>();

  /** Of a repeated user the last account counts. */
  constructor(accounts: readonly Account[]) {
    for (const { user, pass } of accounts) {
      const key = Buffer.from(user).toString('latin1');
      this.#accounts.set(key, { user, pass: digest(Buffer.from(pass)) });
    }
  }

  /** The user who sent a request; `undefined` when it names none with the right password. */
  userOf(fields: Fields): string | undefined {
    const sent = decode(fields);
    if (!sent) return undefined;
    const colon = sent.indexOf(':');
    if (colon < 0) return undefined;
    const account = this.#accounts.get(sent.toString('latin1', 0, colon));
    const same = timingSafeEqual(digest(sent.subarray(colon + 1)), account?.pass ?? NOBODY);
    return same ? account?.user : undefined;
  }
}

/** Several headers are no credentials: another reader might choose another one. */
function decode(fields: Fields): Buffer | undefined {
  const [value = '', second] = valuesOf(fields, 'proxy-authorization');
  const token = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(value)?.[1];
  return token === undefined || second !== undefined ? undefined : Buffer.from(token, 'base64');
}

function digest(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
