import type { Deadlines } from '../deadlines.ts';
import { FIRST_HANDSHAKE_TIMEOUT, MAX_HANDSHAKE_TIMEOUT } from '../limits.ts';

/** When this side's SYN or SYN-ACK is sent, and sent again (RFC 9293 §3.8.1, RFC 6298 §2.1 and §5.5). */
export class SynRetransmission {
  readonly #deadlines: Deadlines;
  /** Whether a SYN of the peer may be answered: a passive connection waits for `accept`. */
  isAccepted: boolean;
  /** To be sent with the next `transmit`. */
  isDue: boolean;
  #sent = 0;
  /** Those sent since the path was last restored: the timeout doubles with each. */
  #unanswered = 0;
  #sentAt = 0;

  /** An active connection sends its SYN at once. */
  constructor(role: 'active' | 'passive', deadlines: Deadlines) {
    this.isAccepted = role === 'active';
    this.isDue = role === 'active';
    this.#deadlines = deadlines;
  }

  /** Whether it was ever sent. */
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

  /** The retransmission timeout. @returns false if it was sent again `retries` times already. */
  onTimeout(retries: number): boolean {
    if (this.#unanswered > retries) return false;
    this.isDue = true;
    return true;
  }

  /** The peer has acknowledged it. @returns the round trip; `undefined` if it was sent more than once. */
  onAcknowledged(now: number): number | undefined {
    this.isDue = false;
    this.#deadlines.clear('handshake');
    return this.#sent === 1 ? now - this.#sentAt : undefined;
  }

  /** The path delivers again: it is sent at once, and the timeout is as short as the first. */
  onPathRestored(): void {
    this.#unanswered = 0;
    this.isDue = true;
  }
}
