import type { Steps } from '@weir/io/time';
import { DerivedUsers, KnownUsers } from '../users/known-users.ts';
import type { InboundMemory } from '../inbounds/inbound-memory.ts';
import { BlockCipher, identityIn, identityOf } from './edition-2022/identity.ts';
import { latin1Of } from './keys.ts';
import { METHODS, type Method } from './methods.ts';
import type { ShadowsocksInboundSettings } from './settings.ts';

/** A user of an inbound. */
export interface KeyedUser {
  readonly index: number;
  readonly key: Uint8Array;
  /** The label of the user's flows; `undefined` for none. */
  readonly label: string | undefined;
}

/** Returns the identities of users (SIP023), as texts, by their keys in Base64. */
const identitiesOf = (memory: InboundMemory): DerivedUsers<string> =>
  memory.recall('Shadowsocks identities', DerivedUsers<string>, () => new DerivedUsers(identify));

const identify = (key: string): string => latin1Of(identityOf(Buffer.from(key, 'base64')));

function* keysOf(users: ShadowsocksInboundSettings['users']): Iterable<string> {
  for (const { key } of users) yield key;
}

/** The users of an inbound, and the means to identify each. */
export class ShadowsocksUsers {
  readonly method: Method;
  /** The users, with the sources of those that are found by trial. */
  readonly known: KnownUsers<KeyedUser>;
  /** The key of identity headers in streams (SIP023); `undefined` without such headers. */
  readonly identityKey: Uint8Array | undefined;
  /**
   * The cipher of identity headers in datagrams, which use the key without a salt; `undefined` without such headers.
   */
  readonly identityCipher: BlockCipher | undefined;
  readonly #byIdentity = new Map<string, KeyedUser>();

  private constructor(
    method: Method,
    known: KnownUsers<KeyedUser>,
    identityKey: Uint8Array | undefined,
  ) {
    this.method = method;
    this.known = known;
    this.identityKey = identityKey;
    this.identityCipher = identityKey && new BlockCipher(identityKey);
  }

  static *of(
    { method: name, key, users }: ShadowsocksInboundSettings,
    memory: InboundMemory,
  ): Steps<ShadowsocksUsers> {
    const method = METHODS[name];
    const own = Buffer.from(key, 'base64');
    const all: KeyedUser[] = [];
    for (const [index, { key: text, email }] of users.entries()) {
      const label = email === '' ? undefined : email;
      all.push({ index, key: Buffer.from(text, 'base64'), label });
      yield;
    }
    const hasIdentities = all.length > 0 && method.edition === '2022';
    if (all.length === 0) all.push({ index: 0, key: own, label: undefined });
    const known = yield* KnownUsers.of(all, userIdOf, memory);
    const table = new ShadowsocksUsers(method, known, hasIdentities ? own : undefined);
    if (!hasIdentities) return table;
    const identities = yield* identitiesOf(memory).take(keysOf(users));
    for (const [index, identity] of identities.entries()) {
      const user = all[index];
      if (user) table.#byIdentity.set(identity, user);
      yield;
    }
    return table;
  }

  /** The users, at least one: an inbound without `users` has a single user with the inbound's key. */
  get all(): readonly KeyedUser[] {
    return this.known.all;
  }

  /** Returns the user with a decrypted identity. */
  identified(identity: Uint8Array): KeyedUser | undefined {
    return this.#byIdentity.get(latin1Of(identity));
  }

  /** Returns the user that the identity header of a stream names. */
  identifiedBy(header: Uint8Array, salt: Uint8Array): KeyedUser | undefined {
    if (!this.identityKey) return undefined;
    return this.identified(identityIn(header, this.identityKey, salt));
  }
}

/**
 * Returns the part that all credentials of an inbound share, besides the users' own keys: the
 * method, and the key of identity headers. A reload may change it.
 */
export const scopeOf = ({ method, identityKey }: ShadowsocksUsers): string =>
  `${method.name} ${identityKey ? latin1Of(identityKey) : ''} `;

/** Returns a text that identifies a user among those of a method, also after a reload. */
export const userIdOf = ({ key }: KeyedUser): string => latin1Of(key);
