import { LRUCache } from 'lru-cache';
import type { RandomSource } from '@weir/base/random';
import { unmapIPv4, type Endpoint } from '@weir/io/addresses';
import type { DatagramSessions, InboundContext } from '../../contract.ts';
import { originOf } from '../../inbounds/serve-flows.ts';
import { ClientAssociation, type ResponseSealer } from './client-association.ts';
import type { KeyedUser, ShadowsocksUsers } from '../shadowsocks-users.ts';

/** Dependencies of the datagram server of either edition. */
export interface DatagramServerDeps {
  readonly users: ShadowsocksUsers;
  /** Returns the server's record of the user's key. */
  readonly credentialOf: (user: KeyedUser) => string;
  readonly context: InboundContext;
  readonly random: RandomSource;
}

/** Associations of one inbound; beyond this number the least recently used one is closed. */
const MOST_ASSOCIATIONS = 4096;
/**
 * Associations of one user among many; few users have equal shares instead. Beyond this number the user's own longest
 * idle one is closed, so that no user can close those of others by opening more.
 */
const MOST_OF_USER = 256;

/** One association with the state of its edition. */
export interface AssociationEntry<State> {
  readonly association: ClientAssociation;
  readonly user: KeyedUser;
  readonly state: State;
}

/**
 * The live associations of an inbound by a key of their edition, bounded in number and idle time.
 */
export class AssociationTable<State> {
  readonly #deps: Pick<DatagramServerDeps, 'context' | 'credentialOf'>;
  readonly #sessions: DatagramSessions;
  readonly #entries: LRUCache<string, AssociationEntry<State>>;
  readonly #byUser = new Map<KeyedUser, Set<ClientAssociation>>();
  readonly #limitOfUser: number;

  /** @param users the number of users who share the associations. */
  constructor(
    deps: Pick<DatagramServerDeps, 'context' | 'credentialOf'>,
    sessions: DatagramSessions,
    users: number,
    limit = MOST_ASSOCIATIONS,
  ) {
    this.#deps = deps;
    this.#sessions = sessions;
    this.#limitOfUser = Math.max(MOST_OF_USER, Math.floor(limit / users));
    this.#entries = new LRUCache({
      max: limit,
      dispose: ({ association }) => association.close(),
    });
  }

  /** Returns the association of a key, which becomes the most recently used one. */
  find(key: string): AssociationEntry<State> | undefined {
    return this.#entries.get(key);
  }

  /** Opens an association and passes it to the dispatcher. */
  open(
    key: string,
    user: KeyedUser,
    client: Endpoint,
    sealer: ResponseSealer,
    state: State,
  ): AssociationEntry<State> {
    const { context, credentialOf } = this.#deps;
    const { clock, dispatcher } = context;
    const remove = (): void => {
      own.delete(association);
      if (own.size === 0) this.#byUser.delete(user);
      if (this.#entries.peek(key) === entry) this.#entries.delete(key);
    };
    // Sealer and state are released with the association, which must not be found afterwards.
    const owned: ResponseSealer = {
      seal: (packet) => sealer.seal(packet),
      [Symbol.dispose]: () => {
        remove();
        sealer[Symbol.dispose]();
      },
    };
    const association = new ClientAssociation(client, owned, clock);
    const own = this.#makeRoom(user);
    own.add(association);
    const source = unmapIPv4(client.host);
    const opened = this.#sessions.open({
      remote: client,
      local: undefined,
      wire: association.wire,
      destroy: (cause) => association.close(cause),
    });
    const entry = { association, user, state };
    this.#entries.set(key, entry);
    const { label } = user;
    const credential = credentialOf(user);
    const origin = originOf(context, source, opened.session, { label, credential });
    void dispatcher.packets({ origin, client: association }).finally(() => {
      association.close();
      opened.close();
    });
    return entry;
  }

  /** Returns the live associations of a user; closes one when there is no room for another. */
  #makeRoom(user: KeyedUser): Set<ClientAssociation> {
    const before = this.#byUser.get(user);
    if (before && before.size >= this.#limitOfUser) longestIdle(before)?.close();
    const own = this.#byUser.get(user) ?? new Set();
    this.#byUser.set(user, own);
    return own;
  }
}

function longestIdle(associations: Iterable<ClientAssociation>): ClientAssociation | undefined {
  let oldest: ClientAssociation | undefined;
  for (const association of associations) {
    if (!oldest || association.lastActive < oldest.lastActive) oldest = association;
  }
  return oldest;
}
