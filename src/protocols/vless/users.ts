import { hash } from 'node:crypto';
import type { Steps } from '../../net/time/turns.ts';
import type { AcceptedAccounts } from '../users/standing.ts';
import { uuidBytes } from '../users/uuid.ts';
import type { VlessUser } from './settings.ts';

/**
 * The users of an inbound by their ids.
 *
 * The table holds digests of ids, so that the time of a look-up reveals nothing about an id: a
 * client that presents one does not choose the digest that is compared.
 */
export class UserTable implements AcceptedAccounts {
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

  /** The digest of the id of a user, as `accepts` takes it; `undefined` for any other id. */
  find(id: Uint8Array): string | undefined {
    const digest = digestOf(id);
    return this.#digests.has(digest) ? digest : undefined;
  }

  accepts(digest: string): boolean {
    return this.#digests.has(digest);
  }
}

const digestOf = (id: Uint8Array): string => hash('sha256', id);
