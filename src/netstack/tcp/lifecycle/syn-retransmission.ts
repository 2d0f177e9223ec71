import type { Deadlines } from '../deadlines.ts';
import { FIRST_HANDSHAKE_TIMEOUT, MAX_HANDSHAKE_TIMEOUT } from '../limits.ts';

/** Schedules the sending and retransmission of this side's SYN or SYN-ACK (RFC 9293 §3.8.1, RFC 6298 §2.1 and §5.5). */
export class SynRetransmission {
  readonly #deadlines: Deadlines;
  /** Whether a SYN of the peer may be answered: a passive connection waits for `accept`. */
  isAccepted: boolean;
  /** Whether the SYN or SYN-ACK is due with the next `transmit`. */
  isDue: boolean;
  #sent = 0;
  /** Number of transmissions since the path was last restored: the timeout doubles with each. */
  #unanswered = 0;
  #sentAt = 0;

  /** Creates the schedule; an active connection sends its SYN at once. */
  constructor(role: 'active' | 'passive', deadlines: Deadlines) {
    this.isAccepted = role === 'active';
    this.isDue = role === 'active';
    this.#deadlines = deadlines;
  }

  /** Whether the SYN or SYN-ACK was ever sent. */
  get isSent(): boolean {
    return this.#sent > 0;
  }

  onSent(now: number): void {
    const backoff = 2 ** this.#unanswered;
    const timeout = Math.min(FIRST_HANDSHAKE_TIMEOUT * backoff, MAX_HANDSHAKE_TIMEOUT);
    this.#deadlines.set('handshake', now + timeout);
    this.isDue = false;
    this.#sent++;
    this.#unanswered++;
    this.#sentAt = now;
  }

  /** Handles the retransmission timeout. @returns false after `retries` retransmissions. */
  onTimeout(retries: number): boolean {
    if (this.#unanswered > retries) return false;
    this.isDue = true;
    return true;
  }

  /**
   * Called when the peer has acknowledged the SYN. @returns the round trip; `undefined` if the SYN was sent more than
   * once.
   */
  onAcknowledged(now: number): number | undefined {
    this.isDue = false;
    this.#deadlines.clear('handshake');
    return this.#sent === 1 ? now - this.#sentAt : undefined;
  }

  /** Called when the path delivers again: the SYN is sent at once, and the timeout starts with its first value. */
  onPathRestored(): void {
    this.#unanswered = 0;
    this.isDue = true;
  }
}
