import { array, bool, converted, secret, str, type Decoder } from '../../schema/decoder.ts';
import { fallback, struct } from '../../schema/struct.ts';
import type { Account } from '../users/account-table.ts';

export interface HttpInboundSettings {
  /** The accounts in file order; of entries with the same user the last counts. Empty for an open proxy. */
  readonly accounts: readonly Account[];
  readonly allowTransparent: boolean;
}

/** A user-id cannot contain a colon: Basic credentials are split at the first one (RFC 7617 §2). */
const userName: Decoder<string> = converted(str, (text, reject) => {
  if (text.includes(':')) throw reject('an account user may not contain `:`');
  return text;
});

/** Decodes the `settings` of an HTTP inbound. @throws {DecodeError} */
export const inboundTable = struct(
  {
    accounts: fallback(array(struct({ user: userName, pass: secret })), []),
    allowTransparent: fallback(bool, false),
  },
  {
    accounts: 'Without any the proxy is open',
    allowTransparent: 'Accepts GET /path with a Host header',
  },
);
