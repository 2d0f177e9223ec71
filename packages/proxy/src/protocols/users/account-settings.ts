import { secret, str } from '../../schema/decoder.ts';
import { type TableNode, tablesAt, textAt, valueAt } from '../../schema/node.ts';
import { optional, struct } from '../../schema/struct.ts';
import type { SettingsWarning } from '../protocol.ts';
import type { Account } from './account-table.ts';

/** The settings of an outbound that may log in with a user name and a password. */
export interface LoginSettings {
  /** The login as written; `undefined` for none. */
  readonly account: Account | undefined;
}

/** Decodes the table of such settings. @throws {DecodeError} */
export const loginTable = struct(
  { user: optional(str), pass: optional(secret) },
  {
    user: 'Without it no login is sent',
    pass: 'Used with user only',
  },
);

/** Decodes such settings: without a user there is no login. @throws {DecodeError} */
export function loginSettings(table: TableNode): LoginSettings {
  const { user, pass = '' } = loginTable(table);
  return { account: user === undefined ? undefined : { user, pass } };
}

/** Yields a warning for a password without a user name, which is not sent. */
export function* loginWarnings(table: TableNode): Generator<SettingsWarning> {
  const pass = valueAt(table, 'pass');
  if (!pass || valueAt(table, 'user')) return;
  yield {
    id: 'settings-ignored',
    span: pass.span,
    message: 'pass is ignored without user, so no password is sent',
  };
}

/** Warnings for accounts that replace earlier ones of `accounts`. */
export const repeatedAccounts = (table: TableNode): Iterable<SettingsWarning> =>
  repeated(
    table,
    'accounts',
    (account) => textAt(account, 'user'),
    'the user stands above already; this entry replaces the earlier one',
  );

/**
 * Yields a warning for each entry that repeats the identity of an earlier one.
 *
 * @param list the key of the list.
 * @param identityOf returns `undefined` for an entry without one. An identity may be a secret, so no
 *   message contains it.
 * @param message states the consequence of the repetition.
 */
export function* repeated(
  table: TableNode,
  list: string,
  identityOf: (entry: TableNode) => string | undefined,
  message: string,
): Generator<SettingsWarning> {
  const seen = new Set<string>();
  for (const entry of tablesAt(table, list)) {
    const identity = identityOf(entry);
    if (identity === undefined) continue;
    if (seen.has(identity)) yield { id: 'repeated-user', span: entry.span, message };
    seen.add(identity);
  }
}
