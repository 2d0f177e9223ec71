import type { Account, AccountTable } from '../users/account-table.ts';
import type { AuthenticatedUser } from '../users/standing.ts';
import { valuesOf, type FieldLines } from '@weir/http/http1';

/** Returns the value of `Proxy-Authorization` for an account (RFC 7617 §2). */
export const basicCredentials = ({ user, pass }: Account): string =>
  `Basic ${Buffer.from(`${user}:${pass}`).toString('base64')}`;

/** Returns the account that a request authenticates; `undefined` without valid `Proxy-Authorization`. */
export function accountOf(
  fields: FieldLines,
  accounts: AccountTable,
): AuthenticatedUser | undefined {
  const credentials = decode(fields);
  const colon = credentials?.indexOf(':') ?? -1;
  if (!credentials || colon < 0) return undefined;
  return accounts.authenticate(credentials.subarray(0, colon), credentials.subarray(colon + 1));
}

/** Whether a request has any `Proxy-Authorization`; the first request of a browser does not. */
export const hasCredentials = (fields: FieldLines): boolean =>
  valuesOf(fields, 'proxy-authorization').length > 0;

/** Decodes the header value. A repeated header is invalid: the next recipient might choose another of its values. */
function decode(fields: FieldLines): Buffer | undefined {
  const [value = '', second] = valuesOf(fields, 'proxy-authorization');
  const token = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(value)?.[1];
  return token === undefined || second !== undefined ? undefined : Buffer.from(token, 'base64');
}
