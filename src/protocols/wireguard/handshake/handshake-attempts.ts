import { REKEY_ATTEMPT_TIME, REKEY_TIMEOUT, type TunnelDeadlines } from '../deadlines.ts';

/**
 * Schedules initiations (whitepaper §6.1 and §6.4): at most one per `REKEY_TIMEOUT`, until there is a
 * session or `REKEY_ATTEMPT_TIME` has passed. Sets the deadline `initiation`.
 */
export class HandshakeAttempts {
  readonly #deadlines: TunnelDeadlines;
  /** Time at which the last initiation was sent, and when these attempts began. */
  #sentAt = -Infinity;
  #since = -Infinity;

  constructor(deadlines: TunnelDeadlines) {
    this.#deadlines = deadlines;
  }

  /**
   * Begins attempts.
   * @returns false while attempts are in progress.
   */
  begin(now: number): boolean {
    if (this.#deadlines.isSet('initiation')) return false;
    this.#since = now;
    this.#deadlines.set('initiation', Math.max(now, this.#sentAt + REKEY_TIMEOUT));
    return true;
  }

  isDue(now: number): boolean {
    return this.#deadlines.isDue('initiation', now);
  }

  isExhausted(now: number): boolean {
    return now - this.#since >= REKEY_ATTEMPT_TIME;
  }

  /** Called when an initiation was sent. @param jitter added to the time until the next one. */
  onSent(now: number, jitter: number): void {
    this.#sentAt = now;
    this.#deadlines.set('initiation', now + REKEY_TIMEOUT + jitter);
  }

  /** Returns the milliseconds for which initiations have been repeated. */
  ageAt(now: number): number {
    return now - this.#since;
  }

  /** Restarts attempts in progress, with an initiation at once: the peer may be at another address. */
  restart(now: number): void {
    if (!this.#deadlines.isSet('initiation')) return;
    this.#since = now;
    this.#deadlines.set('initiation', now);
  }

  end(): void {
    this.#deadlines.clear('initiation');
  }
}
