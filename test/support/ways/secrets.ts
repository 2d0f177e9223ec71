import { isModern, type Way } from './way.ts';

/** The user of VLESS and VMess. */
export const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';

/** Another user of the same port. */
export const OTHER_ID = '2f1c3a5e-7d46-4c02-9b0e-6a8d54e0f7c1';

/** The password of Trojan, and of Shadowsocks with a password; blanks and colons have no meaning in it. */
export const PASSWORD = 'correct horse: battery';

/** The password of Salamander. */
export const OBFS_PASSWORD = 'cry me a river';

/** The account of SOCKS and HTTP. */
export const LOGIN = { user: 'mia', pass: 's3cret' } as const;

/** The secrets that the client of a way sends. */
export function clientSecrets({ credentials }: Way): {
  readonly id: string;
  readonly password: string;
  readonly login: { readonly user: string; readonly pass: string };
} {
  if (credentials === undefined) return { id: ID, password: PASSWORD, login: LOGIN };
  return {
    id: '00c0ffee-0000-4000-8000-000000000000',
    password: 'wrong',
    login: { ...LOGIN, pass: 'wrong' },
  };
}

/** The secrets of both sides of a Shadowsocks way. */
export interface ShadowsocksSecrets {
  /** The server's password or key; with users of 2022 the identity key. */
  readonly server: string;
  /** The users of the port; may be empty. */
  readonly users: readonly string[];
  /** The client's password or key; in 2022 the identity key and the user's own. */
  readonly client: string;
}

export function shadowsocksSecrets(way: Way): ShadowsocksSecrets {
  if (!isModern(way)) {
    const client = clientSecrets(way).password;
    return way.users === true
      ? { server: 'ignored', users: ['first', PASSWORD], client }
      : { server: PASSWORD, users: [], client };
  }
  const size = way.cipher?.includes('aes-128') === true ? 16 : 32;
  const key = (fill: string): string => Buffer.alloc(size, fill).toString('base64');
  const server = key('weir');
  const outer = way.credentials === 'wrong' ? key('other') : server;
  if (way.users !== true) return { server, users: [], client: outer };
  const users = [key('one'), key('two')] as const;
  return {
    server,
    users,
    client: `${outer}:${way.credentials === 'unknown user' ? key('three') : users[1]}`,
  };
}
