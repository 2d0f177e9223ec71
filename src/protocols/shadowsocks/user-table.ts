import type { Turns } from '../../net/turns.ts';
import { DerivedUsers } from '../derived-users.ts';
import type { InboundMemory } from '../inbound-memory.ts';
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

/** The identities of users (SIP023), as texts, by their keys in Base64. */
const identitiesOf = (memory: InboundMemory): DerivedUsers<string> =>
  memory.recall('Shadowsocks identities', DerivedUsers<string>, () => new DerivedUsers(identify));

const identify = (key: string): string => textOf(identityOf(Buffer.from(key, 'base64')));

const hasIdentities = ({ method, users }: ShadowsocksInboundSettings): boolean =>
  users.length > 0 && METHODS[method].edition !== 'legacy';

/** Derives in turns what `UserTable` needs of many users. */
export async function prepareUsers(
  settings: ShadowsocksInboundSettings,
  memory: InboundMemory,
  turns: Turns,
): Promise<void> {
  if (!hasIdentities(settings)) return;
  const keys = settings.users.map(({ key }) => key);
  await identitiesOf(memory).prepare(keys, turns);
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
