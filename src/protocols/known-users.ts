import { ipVersion, parseIPv6, unmapIPv4 } from '../net/address.ts';
import { LRUCache } from 'lru-cache';
import type { InboundMemory } from './inbound-memory.ts';

/** Bytes of an IPv6 address that name a network; one host has all addresses of it (RFC 4291 §2.5.4). */
const PREFIX = 8;

/**
 * What counts as one source of clients: an IPv4 address, or an IPv6 network of 64 bits, from which
 * one client can send with as many addresses as it likes. All clients of a unix socket are one.
 *
 * @param source an IP address; `undefined` for a unix socket.
 */
export function sourceGroup(source: string | undefined): string {
  if (source === undefined) return '';
  const address = unmapIPv4(source);
  const bytes = ipVersion(address) === 6 ? parseIPv6(address) : undefined;
  return bytes ? Buffer.from(bytes).toString('hex', 0, PREFIX) : address;
}

/** Sources whose users are remembered; beyond it the one that was silent longest is forgotten. */
const MOST_SOURCES = 4096;
/** Users that are remembered of one source. A client that is none of them costs as many trials. */
const MOST_OF_SOURCE = 16;

/** Which users came from a source, by a text of each that outlives reloads; the last one first. */
class SourceTable {
  readonly sources = new LRUCache<string, readonly string[]>({ max: MOST_SOURCES });
}

/**
 * The users of an inbound that are found by trial, and where they came from: those are tried first,
 * so that a user pays for a search once, and is let in when others exhaust the time for searches.
 */
export class KnownUsers<User> {
  readonly all: readonly User[];
  readonly #idOf: (user: User) => string;
  readonly #byId: ReadonlyMap<string, User>;
  readonly #table: SourceTable;

  /** @param idOf gives a text that tells a user apart, now and after a reload. */
  constructor(all: readonly User[], idOf: (user: User) => string, memory: InboundMemory) {
    this.all = all;
    this.#idOf = idOf;
    this.#byId = new Map(all.map((user) => [idOf(user), user]));
    this.#table = memory.recall('users by source', SourceTable, () => new SourceTable());
  }

  /** The user who fits among those that came from `source`; a few trials at most. */
  from(source: string | undefined, fits: (user: User) => boolean): User | undefined {
    for (const id of this.#table.sources.get(sourceGroup(source)) ?? []) {
      const user = this.#byId.get(id);
      if (user && fits(user)) return user;
    }
    return undefined;
  }

  /** To be called when `user` has authenticated itself with something that is not a replay. */
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
