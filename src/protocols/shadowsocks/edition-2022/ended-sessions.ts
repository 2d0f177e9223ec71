import type { ReplayWindow } from '../../../crypto/replay/replay-window.ts';
import type { Clock } from '../../../net/time/clock.ts';
import { StampedEntries } from '../stamped-entries.ts';

/** Sessions that are remembered, some 8 MB; beyond this number the oldest is forgotten early. */
const MOST_ENDED = 16_384;

/** The remainder of an ended session: the replay window of its packets. */
export interface EndedSession {
  readonly window: ReplayWindow;
  /** The greatest timestamp of the session's packets, in Unix seconds. */
  readonly latest: number;
}

/**
 * Ended sessions of clients: an association that was idle, blocked or killed ends before its packets become invalid,
 * and none of them may be accepted again. A client may continue its session.
 */
export class EndedSessions {
  readonly #most: number;
  readonly #kept: StampedEntries<EndedSession>;

  constructor(clock: Clock, most = MOST_ENDED) {
    this.#most = most;
    this.#kept = new StampedEntries(clock);
  }

  /** The greatest timestamp of a packet whose session has been forgotten: packets of new sessions must be later. */
  get forgotten(): number {
    this.#kept.forgetOld(this.#most);
    return this.#kept.forgotten;
  }

  /** @param key the user's key and the session id */
  keep(key: string, session: EndedSession): void {
    this.#kept.set(key, session, session.latest);
    this.#kept.forgetOld(this.#most);
  }

  /** Returns the session of a key, unless it has been forgotten. The session stays until `resume`. */
  find(key: string): EndedSession | undefined {
    this.#kept.forgetOld(this.#most);
    return this.#kept.get(key);
  }

  /** Removes a session that continues. */
  resume(key: string): void {
    this.#kept.delete(key);
  }
}
