import type { Hysteria2InboundSettings } from '../protocols/hysteria2/settings.ts';
import type { HttpInboundSettings } from '../protocols/http/settings.ts';
import { claims2022 } from '../protocols/shadowsocks/methods.ts';
import type { ShadowsocksInboundSettings } from '../protocols/shadowsocks/settings.ts';
import type { SocksInboundSettings } from '../protocols/socks/settings.ts';
import type { TrojanInboundSettings } from '../protocols/trojan/settings.ts';
import type { Account } from '../protocols/users/account-table.ts';
import type { VlessInboundSettings } from '../protocols/vless/settings.ts';
import type { TableNode } from '../schema/node.ts';
import { tablesAt, textAt } from '../schema/table-values.ts';
import type { InboundSpec } from '../spec.ts';
import {
  ShareError,
  type SharedAccess,
  type SharedStream,
  type SharedTls,
} from './shared-server.ts';

/** A user of an inbound, with the settings that the user's client needs. */
export interface SharedUser {
  /**
   * The label; without one the start of a UUID, or `#` and the number in the list, from 1. `undefined` where
   * all clients have the same credentials, or none.
   */
  readonly name: string | undefined;
  /** Further names by which the user can be selected. */
  readonly aliases: readonly string[];
  readonly access: SharedAccess;
}

/** The layers below the protocol; Hysteria 2 has TLS, and no stream. */
export interface Below {
  readonly stream: SharedStream;
  readonly tls: SharedTls | undefined;
}

/**
 * The users of an inbound in file order.
 *
 * @param written the `settings` of the file: those of the Spec have no legacy Shadowsocks passwords
 * @param labels labels of VLESS and VMess users, whose tables have no key for one; in the order of the users
 * @throws {ShareError} for a protocol without users, such as `tun`
 */
export function usersOf(
  { protocol, settings }: InboundSpec,
  written: TableNode | undefined,
  { stream, tls }: Below,
  labels: readonly (string | undefined)[],
): readonly SharedUser[] {
  switch (protocol) {
    case 'vless':
    case 'vmess':
      return (settings as VlessInboundSettings).users.map(({ id }, index) => ({
        ...named(index, [labels[index], id.slice(0, SHORT_ID)]),
        access: { protocol, id: hyphenated(id), stream },
      }));
    case 'trojan':
      return (settings as TrojanInboundSettings).users.map(({ password, email }, index) => ({
        ...named(index, [email]),
        access: { protocol, password, stream },
      }));
    case 'shadowsocks':
      return shadowsocksUsers(settings as ShadowsocksInboundSettings, written);
    case 'hysteria2':
      if (!tls) throw new RangeError('Hysteria 2 has TLS');
      return hysteria2Users(settings as Hysteria2InboundSettings, tls);
    case 'socks': {
      const { auth, accounts } = settings as SocksInboundSettings;
      if (auth === 'password' && accounts.length === 0) return [];
      return loginsOf(accounts, (login) => ({ protocol, login }));
    }
    case 'http':
      return loginsOf((settings as HttpInboundSettings).accounts, (login) => ({
        protocol,
        login,
        stream,
      }));
    default:
      throw new ShareError(`protocol ${protocol} has no clients to share it with`);
  }
}

/** Hex digits of a UUID that identify a user; connecting takes 24 more. */
const SHORT_ID = 8;

/** A user with its name and aliases. @param names in order of preference; the first that is not empty is the name */
function named(
  index: number,
  names: readonly (string | undefined)[],
): Pick<SharedUser, 'name' | 'aliases'> {
  const number = String(index + 1);
  const [name, ...aliases] = [...names, `#${number}`, number]
    .filter((each) => each !== undefined)
    .filter((each) => each !== '');
  return { name, aliases };
}

const UNNAMED = { name: undefined, aliases: [] } as const;

/** A UUID of 32 digits with hyphens. */
export const hyphenated = (id: string): string =>
  [id.slice(0, 8), id.slice(8, 12), id.slice(12, 16), id.slice(16, 20), id.slice(20)].join('-');

function shadowsocksUsers(
  { method, key, users }: ShadowsocksInboundSettings,
  written: TableNode | undefined,
): readonly SharedUser[] {
  const access = (password: string): SharedAccess => ({
    protocol: 'shadowsocks',
    method,
    password,
  });
  // A 2022 key has its final length in the Spec, where a legacy one has been derived from a password.
  const is2022 = claims2022(method);
  if (users.length === 0) {
    const password = is2022 ? key : ((written && textAt(written, 'password')) ?? '');
    return [{ ...UNNAMED, access: access(password) }];
  }
  const tables = written ? [...tablesAt(written, 'users'), ...tablesAt(written, 'clients')] : [];
  return users.map((user, index) => {
    const table = tables[index];
    const legacy = (table && textAt(table, 'password')) ?? '';
    return {
      ...named(index, [user.email]),
      access: access(is2022 ? `${key}:${user.key}` : legacy),
    };
  });
}

function hysteria2Users(
  { credentials, obfuscation }: Hysteria2InboundSettings,
  tls: SharedTls,
): readonly SharedUser[] {
  const access = (auth: string): SharedAccess => ({
    protocol: 'hysteria2',
    auth,
    tls,
    obfuscation,
  });
  return 'password' in credentials
    ? [{ ...UNNAMED, access: access(credentials.password) }]
    : credentials.users.map(({ user, pass, label }, index) => ({
        ...named(index, [label, user]),
        access: access(`${user}:${pass}`),
      }));
}

/**
 * The users of a list of accounts. Of entries with the same username the last counts; without any the proxy is open.
 */
function loginsOf(
  accounts: readonly Account[],
  access: (login: Account | undefined) => SharedAccess,
): readonly SharedUser[] {
  if (accounts.length === 0) return [{ ...UNNAMED, access: access(undefined) }];
  const last = new Map(accounts.map((account) => [account.user, account]));
  return accounts.flatMap((login, index) =>
    last.get(login.user) === login
      ? [{ ...named(index, [login.user]), access: access(login) }]
      : [],
  );
}
