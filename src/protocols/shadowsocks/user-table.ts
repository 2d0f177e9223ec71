import { BlockCipher, identityIn, identityOf } from './edition-2022/identity.ts';
import { textOf } from './keys.ts';
import { METHODS, type Method } from './methods.ts';
import type { ShadowsocksInboundSettings } from './settings.ts';

/** A user of an inbound. */
export interface User {
  readonly index: number;
  readonly key: Uint8Array;
  /** The label of the user's flows; `undefined` without one. */
  readonly label: string | undefined;
}

/** The users of an inbound and how each is identified. */
export class UserTable {
  readonly method: Method;
  /** One at least: an inbound without `users` has a single user with its own key. */
  readonly all: readonly User[];
  /** The key of identity headers in streams (SIP023); `undefined` without such headers. */
  readonly identityKey: Uint8Array | undefined;
  /** The same for datagrams, which use that key without a salt. */
  readonly identityCipher: BlockCipher | undefined;
  readonly #byIdentity = new Map<string, User>();

  constructor({ method, key, users }: ShadowsocksInboundSettings) {
    this.method = METHODS[method];
    const single = Buffer.from(key, 'base64');
    this.all =
      users.length === 0
        ? [{ index: 0, key: single, label: undefined }]
        : users.map(({ key, email }, index) => ({
            index,
            key: Buffer.from(key, 'base64'),
            label: email === '' ? undefined : email,
          }));
    if (users.length === 0 || this.method.edition === 'legacy') return;
    this.identityKey = single;
    this.identityCipher = new BlockCipher(single);
    for (const user of this.all) this.#byIdentity.set(textOf(identityOf(user.key)), user);
  }

  /** The user of a decrypted identity. */
  identified(identity: Uint8Array): User | undefined {
    return this.#byIdentity.get(textOf(identity));
  }

  /** The user of the identity header of a stream. */
  identifiedBy(header: Uint8Array, salt: Uint8Array): User | undefined {
    if (!this.identityKey) return undefined;
    return this.identified(identityIn(header, this.identityKey, salt));
  }
}

/** A text that identifies a user among those of its method, before and after a reload. */
export const userIdOf = ({ key }: User): string => textOf(key);
