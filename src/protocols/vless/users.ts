import { hash } from 'node:crypto';
import { uuidBytes } from '../uuid.ts';
import type { VlessUser } from './settings.ts';

/**
 * The users of an inbound by their ids.
 *
 * The table holds digests of ids, so that the time of a look-up reveals nothing about an id: a
 * client that presents one does not choose the digest that is compared.
 */
export class UserTable {
  readonly #digests: ReadonlySet<string>;

  constructor(users: readonly VlessUser[]) {
    this.#digests = new Set(users.map(({ id }) => digestOf(uuidBytes(id))));
  }

  has(id: Uint8Array): boolean {
    return this.#digests.has(digestOf(id));
  }
}

const digestOf = (id: Uint8Array): string => hash('sha256', id);
