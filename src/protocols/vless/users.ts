import { hash } from 'node:crypto';
import type { Steps } from '../../net/turns.ts';
import { uuidBytes } from '../uuid.ts';
import type { VlessUser } from './settings.ts';

/**
 * The users of an inbound by their ids.
 *
 * The table holds digests of ids, so that the time of a look-up reveals nothing about an id: a
 * client that presents one does not choose the digest that is compared.
 */
export class UserTable {
  readonly #digests = new Set<string>();

  private constructor() {}

  static *of(users: readonly VlessUser[]): Steps<UserTable> {
    const table = new UserTable();
    for (const { id } of users) {
      table.#digests.add(digestOf(uuidBytes(id)));
      yield;
    }
    return table;
  }

  has(id: Uint8Array): boolean {
    return this.#digests.has(digestOf(id));
  }
}

const digestOf = (id: Uint8Array): string => hash('sha256', id);
