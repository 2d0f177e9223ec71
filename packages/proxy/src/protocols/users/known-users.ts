import { LRUCache } from 'lru-cache';
import { sourceGroup } from '@weir/io/bounds';
import type { Steps } from '@weir/io/time';
import type { InboundMemory } from '../inbounds/inbound-memory.ts';

/** Sources whose users are remembered; beyond this number the least recently used is removed. */
const MOST_SOURCES = 4096;
/** Users remembered for one source: each costs one trial for a client that is another user. */
const MOST_OF_SOURCE = 16;

/** The users of each source, the latest first, by an id that does not change in reloads. */
class SourceTable {
  readonly sources = new LRUCache<string, readonly string[]>({ max: MOST_SOURCES });
}

/**
 * The users of an inbound that are found by trial, and their sources: the known users of a source
 * are tried first, so that a user is searched for only once, and is found even while other clients
 * exhaust the time for searches.
 */
export class KnownUsers<User> {
  readonly all: readonly User[];
  readonly #idOf: (user: User) => string;
  readonly #byId: ReadonlyMap<string, User>;
  readonly #table: SourceTable;

  private constructor(
    all: readonly User[],
    byId: ReadonlyMap<string, User>,
    idOf: (user: User) => string,
    memory: InboundMemory,
  ) {
    this.all = all;
    this.#idOf = idOf;
    this.#byId = byId;
    this.#table = memory.recall('users by source', SourceTable, () => new SourceTable());
  }

  /** @param idOf returns a unique id of a user, which does not change in reloads. */
  static *of<User>(
    all: readonly User[],
    idOf: (user: User) => string,
    memory: InboundMemory,
  ): Steps<KnownUsers<User>> {
    const byId = new Map<string, User>();
    for (const user of all) {
      byId.set(idOf(user), user);
      yield;
    }
    return new KnownUsers(all, byId, idOf, memory);
  }

  /** Whether there is a user with that id. */
  has(id: string): boolean {
    return this.#byId.has(id);
  }

  /** Returns the known user of `source` that `fits` accepts, after at most MOST_OF_SOURCE trials. */
  from(source: string | undefined, fits: (user: User) => boolean): User | undefined {
    for (const id of this.#table.sources.get(sourceGroup(source)) ?? []) {
      const user = this.#byId.get(id);
      if (user && fits(user)) return user;
    }
    return undefined;
  }

  /** Remembers a user whom a message that is not a replay has authenticated. */
  remember(source: string | undefined, user: User): void {
    if (this.all.length < 2) return;
    const { sources } = this.#table;
    const group = sourceGroup(source);
    const id = this.#idOf(user);
    const before = sources.get(group) ?? [];
    if (before[0] === id) return;
    const others = before.filter((other) => other !== id).slice(0, MOST_OF_SOURCE - 1);
    sources.set(group, [id, ...others]);
  }
}

/**
 * Values derived from the secrets of an inbound's users, by secret. They are kept in the inbound's memory, so that a
 * reload derives only those of new users, and forgotten once the last list of users does not need them.
 */
export class DerivedUsers<Derived> {
  readonly #derive: (secret: string) => Derived;
  #kept: ReadonlyMap<string, Derived> = new Map();

  /** @param derive its result must depend only on the secret. */
  constructor(derive: (secret: string) => Derived) {
    this.#derive = derive;
  }

  /** The values derived from `secrets`, in their order; all others are forgotten at the end. */
  *take(secrets: Iterable<string>): Steps<readonly Derived[]> {
    const taken = new Map<string, Derived>();
    const list: Derived[] = [];
    for (const secret of secrets) {
      const derived = taken.get(secret) ?? this.#kept.get(secret) ?? this.#derive(secret);
      taken.set(secret, derived);
      list.push(derived);
      yield;
    }
    this.#kept = taken;
    return list;
  }
}
