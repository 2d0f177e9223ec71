import { array, bool, converted, secret, str, type Decoder } from '../../schema/decoder.ts';
import type { TableNode } from '../../schema/node.ts';
import { fallback, optional, struct } from '../../schema/struct.ts';
import type { Account } from '../users/account-table.ts';
import type { SettingsWarning } from '../protocol.ts';
import { passwordAlone, repeated, textOf } from '../settings-warnings.ts';

export interface HttpInboundSettings {
  /** In file order; of a repeated user the last counts. Empty for an open proxy. */
  readonly accounts: readonly Account[];
  readonly allowTransparent: boolean;
}

export interface HttpOutboundSettings {
  readonly account: Account | undefined;
}

/** Basic credentials are split at the first colon (RFC 7617 §2), so a user name cannot have one. */
const userName: Decoder<string> = converted(str, (text, reject) => {
  if (text.includes(':')) throw reject('an account user may not contain `:`');
  return text;
});

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

/** The `settings` of an HTTP inbound. @throws {DecodeError} */
export const inboundSettings = (table: TableNode): HttpInboundSettings => inboundTable(table);

export const outboundTable = struct(
  { user: optional(str), pass: optional(secret) },
  {
    user: 'Without it no login is sent',
    pass: 'Used with user only',
  },
);

/** The `settings` of an HTTP outbound. @throws {DecodeError} */
export function outboundSettings(table: TableNode): HttpOutboundSettings {
  const { user, pass = '' } = outboundTable(table);
  return { account: user === undefined ? undefined : { user, pass } };
}

/** Accounts that replace others. */
export const inboundWarnings = (table: TableNode): Iterable<SettingsWarning> =>
  repeated(
    table,
    'accounts',
    (account) => textOf(account, 'user'),
    'the user stands above already; this entry replaces the earlier one',
  );

/** A password without a user name. */
export const outboundWarnings: (table: TableNode) => Iterable<SettingsWarning> = passwordAlone;
