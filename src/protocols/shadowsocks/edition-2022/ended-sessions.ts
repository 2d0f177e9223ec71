import type { ReplayWindow } from '../../../crypto/replay/replay-window.ts';
import type { Clock } from '../../../net/time/clock.ts';

/**
 * How long a session is remembered after its end, in milliseconds (SIP022 §3.2.4: at least 60 s): twice the
 * tolerance for timestamps, and a second more, so that no packet is both forgotten and valid unless the wall clock is
 * set back.
 */
const KEPT_MS = 61_000;

/** Sessions that are remembered, some 8 MB; the oldest is forgotten early beyond it. */
const MOST_ENDED = 16_384;

/** What is left of a session: which of its packets were accepted. */
export interface EndedSession {
  readonly window: ReplayWindow;
  /** The greatest timestamp of its packets, in Unix seconds. */
  readonly latest: number;
}

interface Kept extends EndedSession {
  /** On the monotonic clock. */
  readonly until: number;
}

/**
 * The sessions of clients that have ended: an association ends before its packets have become invalid when it
 * was idle, blocked or killed, and none of them may be accepted again. A client may go on with its session.
 */
export class EndedSessions {
  readonly #clock: Clock;
  readonly #most: number;
  /** In the order of their ends. */
  readonly #kept = new Map<string, Kept>();
  #forgotten = -Infinity;

  constructor(clock: Clock, most = MOST_ENDED) {
    this.#clock = clock;
    this.#most = most;
  }

  /** The greatest timestamp of a packet whose session has been forgotten: those of new sessions must be later. */
  get forgotten(): number {
    this.#forgetOld();
    return this.#forgotten;
  }

  /** @param key of a user and the id of the session */
  keep(key: string, session: EndedSession): void {
    this.#kept.delete(key);
    this.#kept.set(key, { ...session, until: this.#clock.now() + KEPT_MS });
    this.#forgetOld();
  }

  /** The session of that key, unless it has been forgotten. It stays until `resume`. */
  find(key: string): EndedSession | undefined {
    this.#forgetOld();
    return this.#kept.get(key);
  }

  /** Called when a session goes on. */
  resume(key: string): void {
    this.#kept.delete(key);
  }

  #forgetOld(): void {
    const now = this.#clock.now();
    for (const [key, { latest, until }] of this.#kept) {
      if (now < until && this.#kept.size <= this.#most) return;
      this.#kept.delete(key);
      this.#forgotten = Math.max(this.#forgotten, latest);
    }
  }
}
