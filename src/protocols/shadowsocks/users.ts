import { LRUCache } from 'lru-cache';
import { BlockCipher, identityOf, identitySubkeyOf } from './keys.ts';
import { METHODS, type Method } from './methods.ts';
import type { ShadowsocksInboundSettings } from './settings.ts';

/** Somebody who may come in. */
export interface User {
  readonly index: number;
  readonly key: Uint8Array;
  /** The label of the user's flows; `undefined` for none. */
  readonly label: string | undefined;
}

/** Clients whose user is remembered, so that the next trial finds him first. */
const REMEMBERED = 4096;

/** Who may come in through an inbound, and how he is told from the others. */
export class Users {
  readonly method: Method;
  /** Everybody, or the one of an inbound without users. */
  readonly all: readonly User[];
  /** The key that identity headers are sealed under (SIP023); `undefined` without such headers. */
  readonly identityKey: Uint8Array | undefined;
  /** The same for datagrams, which use the key as it is. */
  readonly identityCipher: BlockCipher | undefined;
  readonly #byIdentity = new Map<string, User>();
  readonly #bySource = new LRUCache<string, User>({ max: REMEMBERED });

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

  /** The user whom an identity, decrypted, names. */
  identified(identity: Uint8Array): User | undefined {
    return this.#byIdentity.get(textOf(identity));
  }

  /** The user whom the identity header of a stream names. */
  identifiedBy(header: Uint8Array, salt: Uint8Array): User | undefined {
    if (!this.identityKey) return undefined;
    return this.identified(
      new BlockCipher(identitySubkeyOf(this.identityKey, salt)).decrypt(header),
    );
  }

  /**
   * Finds a user by trial: the one who last came from `source` first, then everybody in order.
   * Without identity headers there is no other way, and each trial costs a few microseconds.
   */
  tried(source: string | undefined, fits: (user: User) => boolean): User | undefined {
    return this.remembered(source, fits) ?? this.searched(source, fits);
  }

  /** The user who last came from `source`, if it fits: one trial, or none. */
  remembered(source: string | undefined, fits: (user: User) => boolean): User | undefined {
    const last = source === undefined ? undefined : this.#bySource.get(source);
    return last && fits(last) ? last : undefined;
  }

  /** Tries everybody but the one whom `remembered` has tried. */
  searched(source: string | undefined, fits: (user: User) => boolean): User | undefined {
    const last = source === undefined ? undefined : this.#bySource.get(source);
    const found = this.all.find((user) => user !== last && fits(user));
    if (found && source !== undefined && this.all.length > 1) this.#bySource.set(source, found);
    return found;
  }
}

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
