import type { Turns } from '../../net/turns.ts';
import { DerivedUsers } from '../derived-users.ts';
import type { InboundMemory } from '../inbound-memory.ts';
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

/** The identities of users (SIP023), as texts, by their keys in Base64. */
const identitiesOf = (memory: InboundMemory): DerivedUsers<string> =>
  memory.recall('Shadowsocks identities', DerivedUsers<string>, () => new DerivedUsers(identify));

const identify = (key: string): string => textOf(identityOf(Buffer.from(key, 'base64')));

const hasIdentities = ({ method, users }: ShadowsocksInboundSettings): boolean =>
  users.length > 0 && METHODS[method].edition !== 'legacy';

/** Derives in turns what `Users` needs of many users. */
export async function prepareUsers(
  settings: ShadowsocksInboundSettings,
  memory: InboundMemory,
  turns: Turns,
): Promise<void> {
  if (!hasIdentities(settings)) return;
  const keys = settings.users.map(({ key }) => key);
  await identitiesOf(memory).prepare(keys, turns);
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

  constructor(settings: ShadowsocksInboundSettings, memory: InboundMemory) {
    const { method, key, users } = settings;
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
    if (!hasIdentities(settings)) return;
    this.identityKey = single;
    this.identityCipher = new BlockCipher(single);
    const identities = identitiesOf(memory).take(users.map((user) => user.key));
    for (const [index, identity] of identities.entries()) {
      const user = this.all[index];
      if (user) this.#byIdentity.set(identity, user);
    }
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
