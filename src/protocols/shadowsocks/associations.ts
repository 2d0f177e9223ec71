import { LRUCache } from 'lru-cache';
import { unmapIPv4, type Endpoint } from '../../net/address.ts';
import type { DatagramSessions, InboundContext } from '../contract.ts';
import { Association, type AnswerSealer } from './association.ts';
import type { User } from './users.ts';

/** Associations of one inbound; beyond it the one that was silent longest ends. */
const MOST_ASSOCIATIONS = 4096;
/**
 * What one of many users may have of them; where there are few users each has an equal part. Beyond
 * it his own oldest one ends, so that nobody ends those of others by opening more.
 */
const MOST_OF_USER = 256;

/** One association with what its protocol knows of it. */
export interface Entry<State> {
  readonly association: Association;
  readonly user: User;
  readonly state: State;
}

/** The live associations of an inbound by their protocol's key, bounded in count and idle time. */
export class Associations<State> {
  readonly #context: InboundContext;
  readonly #sessions: DatagramSessions;
  readonly #entries: LRUCache<string, Entry<State>>;
  readonly #byUser = new Map<User, Set<Association>>();
  readonly #limitOfUser: number;

  /** @param users how many share the associations. */
  constructor(
    context: InboundContext,
    sessions: DatagramSessions,
    users: number,
    limit = MOST_ASSOCIATIONS,
  ) {
    this.#context = context;
    this.#sessions = sessions;
    this.#limitOfUser = Math.max(MOST_OF_USER, Math.floor(limit / users));
    this.#entries = new LRUCache({
      max: limit,
      dispose: ({ association }) => association.close(),
    });
  }

  /** The association of that key; it has just been heard of. */
  find(key: string): Entry<State> | undefined {
    return this.#entries.get(key);
  }

  /** Begins an association and hands it to the dispatcher. */
  begin(
    key: string,
    user: User,
    client: Endpoint,
    sealer: AnswerSealer,
    state: State,
  ): Entry<State> {
    const { tag, clock, dispatcher } = this.#context;
    const forget = (): void => {
      own.delete(association);
      if (own.size === 0) this.#byUser.delete(user);
      if (this.#entries.peek(key) === entry) this.#entries.delete(key);
    };
    // What an association is sealed and opened with goes with it: it must not be found after that.
    const owned: AnswerSealer = {
      seal: (packet) => sealer.seal(packet),
      [Symbol.dispose]: () => {
        forget();
        sealer[Symbol.dispose]();
      },
    };
    const association = new Association(client, owned, clock);
    const own = this.#makeRoom(user);
    own.add(association);
    const source = unmapIPv4(client.host);
    const opened = this.#sessions.open(source, association.wire, (cause) =>
      association.close(cause),
    );
    const entry = { association, user, state };
    this.#entries.set(key, entry);
    const origin = { inbound: tag, source, user: user.label, session: opened.session };
    void dispatcher.packets({ origin, client: association }).finally(() => {
      association.close();
      opened.close();
    });
    return entry;
  }

  /** The live associations of that user, with room for another. */
  #makeRoom(user: User): Set<Association> {
    const before = this.#byUser.get(user);
    if (before && before.size >= this.#limitOfUser) longestSilent(before)?.close();
    const own = this.#byUser.get(user) ?? new Set();
    this.#byUser.set(user, own);
    return own;
  }
}

function longestSilent(associations: Iterable<Association>): Association | undefined {
  let oldest: Association | undefined;
  for (const association of associations) {
    if (!oldest || association.lastSeen < oldest.lastSeen) oldest = association;
  }
  return oldest;
}
