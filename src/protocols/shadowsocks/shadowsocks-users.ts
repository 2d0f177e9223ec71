import type { Steps } from '../../net/time/turns.ts';
import { DerivedUsers } from '../users/derived-users.ts';
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
  /** The users, at least one: an inbound without `users` has a single user with the inbound's key. */
  readonly all: readonly KeyedUser[];
  /** The key of identity headers in streams (SIP023); `undefined` without such headers. */
  readonly identityKey: Uint8Array | undefined;
  /**
   * The cipher of identity headers in datagrams, which use the key without a salt; `undefined` without such headers.
   */
  readonly identityCipher: BlockCipher | undefined;
  readonly #byIdentity = new Map<string, KeyedUser>();

  private constructor(
    method: Method,
    all: readonly KeyedUser[],
    identityKey: Uint8Array | undefined,
  ) {
    this.method = method;
    this.all = all;
    this.identityKey = identityKey;
    this.identityCipher = identityKey && new BlockCipher(identityKey);
  }

  static *of(settings: ShadowsocksInboundSettings, memory: InboundMemory): Steps<ShadowsocksUsers> {
    const { method, key, users } = settings;
    const single = Buffer.from(key, 'base64');
    if (users.length === 0) {
      return new ShadowsocksUsers(
        METHODS[method],
        [{ index: 0, key: single, label: undefined }],
        undefined,
      );
    }
    const all: KeyedUser[] = [];
    for (const [index, { key, email }] of users.entries()) {
      const label = email === '' ? undefined : email;
      all.push({ index, key: Buffer.from(key, 'base64'), label });
      yield;
    }
    if (METHODS[method].edition === 'legacy')
      return new ShadowsocksUsers(METHODS[method], all, undefined);
    const table = new ShadowsocksUsers(METHODS[method], all, single);
    const identities = yield* identitiesOf(memory).take(keysOf(users));
    for (const [index, identity] of identities.entries()) {
      const user = all[index];
      if (user) table.#byIdentity.set(identity, user);
      yield;
    }
    return table;
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
