import { BlockCipher, identityOf, identitySubkeyOf } from './keys.ts';
import { METHODS, type Method } from './methods.ts';
import type { ShadowsocksInboundSettings } from './settings.ts';

/** A client that may use an inbound. */
export interface User {
  readonly index: number;
  readonly key: Uint8Array;
  /** The label of the user's flows; `undefined` for none. */
  readonly label: string | undefined;
}

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
}

/** A text that tells a user from the others of its method, now and after a reload. */
export const idOf = ({ key }: User): string => textOf(key);

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
