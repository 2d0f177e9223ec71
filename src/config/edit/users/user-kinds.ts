/** The form in which an inbound protocol writes its users. */
export interface UserKind {
  /** The names of the list in `settings`. */
  readonly lists: readonly [string, ...string[]];
  /** The key of the name; `undefined` if the table has none, and the name is a comment. */
  readonly name: 'email' | 'user' | undefined;
  readonly secret: 'password' | 'pass' | 'id';
}

const PASSWORDS: UserKind = { lists: ['users'], name: 'email', secret: 'password' };
const IDS: UserKind = { lists: ['users'], name: undefined, secret: 'id' };
const ACCOUNTS: UserKind = { lists: ['accounts'], name: 'user', secret: 'pass' };
const HYSTERIA: UserKind = { lists: ['users'], name: 'user', secret: 'pass' };

const KINDS: ReadonlyMap<string, UserKind> = new Map([
  ['trojan', PASSWORDS],
  ['shadowsocks', { ...PASSWORDS, lists: ['users', 'clients'] }],
  ['vless', IDS],
  ['vmess', IDS],
  ['hysteria2', HYSTERIA],
  ['hysteria', HYSTERIA],
  ['hy2', HYSTERIA],
  ['socks', ACCOUNTS],
  ['http', ACCOUNTS],
]);

/**
 * Returns the kind of users of a protocol.
 * @param protocol as written. `undefined` for a protocol without users, such as `tun`.
 */
export const userKind = (protocol: string): UserKind | undefined => KINDS.get(protocol);

export const isHysteria = (protocol: string): boolean => KINDS.get(protocol) === HYSTERIA;
