import type { Account } from '../users/account-table.ts';
import type { Draft, NamedServer, StreamDraft } from './draft.ts';
import { decoded, fromBase64 } from './link.ts';
import {
  namedUser,
  type SharedAccess,
  type SharedUser,
  ShareError,
  UNNAMED_USER,
} from './shared-server.ts';
import { shortId } from '../users/accounts.ts';
import { hyphenated } from '../users/uuid.ts';
import type { SharedContext, UserForm } from './contract.ts';

/* The optional user name and password of SOCKS and HTTP proxies. */

/** The login of an outbound. */
export type Login = Readonly<Partial<Record<'user' | 'pass', string | undefined>>>;

/** An outbound to a SOCKS or HTTP proxy. */
export const proxyDraft = (
  protocol: 'socks' | 'http',
  place: NamedServer,
  stream: StreamDraft | undefined,
  { user, pass }: Login,
): Draft => ({ ...place, protocol, stream, settings: { user, pass } });

/**
 * An outbound to a SOCKS or HTTP proxy, for a program that offers authentication only with a user name. A password
 * without a user name is dropped with a note.
 */
export const namedProxyDraft = (
  protocol: 'socks' | 'http',
  place: NamedServer,
  stream: StreamDraft | undefined,
  { user = '', pass = '' }: Login,
): Draft =>
  user === ''
    ? { ...proxyDraft(protocol, place, stream, {}), notes: pass === '' ? [] : [PASSWORD_ALONE] }
    : proxyDraft(protocol, place, stream, { user, pass: pass === '' ? undefined : pass });

const PASSWORD_ALONE = 'its password is not carried over: it has no user name';

/** Parses the login of a link: `user:pass`, each percent-encoded, or base64 of both, as in v2rayN. */
export function loginIn(credentials: string): Login {
  if (credentials === '') return {};
  const plain = fromBase64(decoded(credentials));
  if (plain?.includes(':') === true) return divided(plain);
  const { user, pass } = divided(credentials);
  return { user: decoded(user), ...(pass !== undefined && { pass: decoded(pass) }) };
}

/** Splits a text at its first colon. */
export function divided(text: string): Login & { readonly user: string } {
  const colon = text.indexOf(':');
  return colon < 0 ? { user: text } : { user: text.slice(0, colon), pass: text.slice(colon + 1) };
}

/** The pair that clients divide at its first colon. @throws {ShareError} for a user with a colon */
export function pairOf({ user, pass }: Account): string {
  if (user.includes(':')) throw new ShareError('its user has a colon, where clients divide');
  return `${user}:${pass}`;
}

/** The login of an access; `undefined` for a proxy that is open to all. */
export const accountIn = ({ user, pass }: Login): Account | undefined =>
  user === undefined ? undefined : { user, pass: pass ?? '' };

/** The keys of sing-box and mihomo. */
export function loginForm(login: Login): object {
  const account = accountIn(login);
  return account ? { username: account.user, password: account.pass } : {};
}

/**
 * The users of a list of accounts. Of entries with the same username the last counts; without any the proxy is open.
 */
export function loginsOf(
  accounts: readonly Account[],
  access: (login: Login) => SharedAccess,
): readonly SharedUser[] {
  if (accounts.length === 0) return [{ ...UNNAMED_USER, access: access({}) }];
  const last = new Map(accounts.map((account) => [account.user, account]));
  return accounts.flatMap((login, index) =>
    last.get(login.user) === login
      ? [{ ...namedUser(index, [login.user]), access: access(login) }]
      : [],
  );
}

/** How an inbound writes users whose only credential is a UUID. */
export const UUID_USER: UserForm = { lists: ['users'], name: undefined, secret: 'id' };

/** Returns the users of an inbound as their clients reach it; without a label the start of the UUID is the name. */
export const sharedUuidUsers = (
  { users }: { readonly users: readonly { readonly id: string }[] },
  { protocol, stream, labels }: SharedContext,
): readonly SharedUser[] =>
  users.map(({ id }, index) => ({
    ...namedUser(index, [labels[index], shortId(id)]),
    access: { protocol, settings: { id: hyphenated(id) }, stream },
  }));

/** Returns the lines of a generated `[inbound.settings]` for one user. @param comment has the name of the user */
export const uuidUserLines = (id: string, comment: string): readonly string[] => [
  'users = [',
  `  { id = ${JSON.stringify(id)} }, ${comment}`,
  ']',
];
