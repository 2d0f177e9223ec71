import type { ReplayWindow } from '../../../crypto/replay/replay-window.ts';
import type { Clock } from '../../../net/time/clock.ts';
import { StampedEntries } from '../stamped-entries.ts';

/** Sessions that are remembered, some 8 MB; the oldest is forgotten early beyond it. */
const MOST_ENDED = 16_384;

/** What is left of a session: which of its packets were accepted. */
export interface EndedSession {
  readonly window: ReplayWindow;
  /** The greatest timestamp of its packets, in Unix seconds. */
  readonly latest: number;
}

/**
 * The sessions of clients that have ended: an association ends before its packets have become invalid when it
 * was idle, blocked or killed, and none of them may be accepted again. A client may go on with its session.
 */
export class EndedSessions {
  readonly #most: number;
  readonly #kept: StampedEntries<EndedSession>;

  constructor(clock: Clock, most = MOST_ENDED) {
    this.#most = most;
    this.#kept = new StampedEntries(clock);
  }

  /** The greatest timestamp of a packet whose session has been forgotten: those of new sessions must be later. */
  get forgotten(): number {
    this.#kept.forgetOld(this.#most);
    return this.#kept.forgotten;
  }

  /** @param key of a user and the id of the session */
  keep(key: string, session: EndedSession): void {
    this.#kept.set(key, session, session.latest);
    this.#kept.forgetOld(this.#most);
  }

  /** The session of that key, unless it has been forgotten. It stays until `resume`. */
  find(key: string): EndedSession | undefined {
    this.#kept.forgetOld(this.#most);
    return this.#kept.get(key);
  }

  /** Called when a session goes on. */
  resume(key: string): void {
    this.#kept.delete(key);
  }
}
