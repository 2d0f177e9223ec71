import { addressHint } from '@weir/base/ip';
import { formatIP, parseIP } from '@weir/io/addresses';
import {
  array,
  bool,
  converted,
  type Decoder,
  disclosed,
  narrowed,
  secret,
  str,
} from '../../schema/decoder.ts';
import { DecodeError } from '../../schema/errors.ts';
import { type TableNode, textAt, valueAt } from '../../schema/node.ts';
import { fallback, optional, struct } from '../../schema/struct.ts';
import type { Account } from '../users/account-table.ts';
import type { InboundSettingsContext, SettingsWarning } from '../protocol.ts';
import { repeatedAccounts } from '../users/account-settings.ts';

/** An IP address without brackets, prefix length or zone; IPv6 is normalized as in RFC 5952. */
const ipAddress: Decoder<string> = converted(disclosed(str), (text, reject) => {
  const bytes = parseIP(text);
  if (!bytes) throw reject('invalid IP address syntax', addressHint(text));
  return formatIP(bytes);
});

export interface SocksInboundSettings {
  readonly auth: 'none' | 'password';
  /** The accounts in file order; of entries with the same user the last counts. Empty when `auth` is `none`. */
  readonly accounts: readonly Account[];
  readonly udp: boolean;
  /** The IP address that associations bind; `undefined` for that of the control connection. */
  readonly udpBind: string | undefined;
}

const auth: Decoder<SocksInboundSettings['auth']> = converted(str, (text, reject) => {
  if (text === 'none' || text === 'password') return text;
  throw reject('unknown socks auth');
});

export const inboundTable = struct(
  {
    auth: fallback(narrowed(auth, { enum: ['none', 'password'] }), 'none'),
    accounts: fallback(array(struct({ user: str, pass: secret })), []),
    udp: fallback(bool, true),
    udpBind: optional(ipAddress),
  },
  {
    auth: 'password requires a login, and refuses SOCKS4',
    accounts: 'For auth = "password"',
    udp: 'Whether UDP ASSOCIATE is offered',
    udpBind: 'IP address of the UDP relay; by default that of the connection',
  },
);

/** Decodes the `settings` of a SOCKS inbound. @throws {DecodeError} */
export function inboundSettings(
  table: TableNode,
  { listen }: InboundSettingsContext,
): SocksInboundSettings {
  const { auth, accounts, udp, udpBind } = inboundTable(table);
  if (listen.kind === 'unix' && udp && udpBind === undefined) {
    // The control connection has no address to which a client could send datagrams.
    const message =
      'udp_bind is required when listen is a unix socket and udp is true; set it, or udp = false';
    throw new DecodeError(message, table.span);
  }
  return { auth, accounts: auth === 'password' ? accounts : [], udp, udpBind };
}

/** Warnings for accounts that are ignored, and for ones that replace others. */
export function* inboundWarnings(table: TableNode): Generator<SettingsWarning> {
  const accounts = valueAt(table, 'accounts');
  if (
    accounts?.kind === 'array' &&
    accounts.items.length > 0 &&
    textAt(table, 'auth') !== 'password'
  ) {
    yield {
      id: 'accounts-ignored',
      span: accounts.span,
      message: 'accounts are ignored without auth = "password", so no password is required',
    };
  }
  yield* repeatedAccounts(table);
}
