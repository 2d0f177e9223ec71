import { CHALLENGE_INTERVAL, MAX_CHALLENGE_ACKS, STRAY_ACK_INTERVAL } from '../limits.ts';

/**
 * How often segments that are not acceptable are answered with an ACK. Without a limit two ends that
 * disagree could keep each other busy for ever, and a forger learns from the count (RFC 5961 §7).
 */
export class ChallengeLimit {
  #left = MAX_CHALLENGE_ACKS;
  #since = -Infinity;
  #strayAt = -Infinity;

  /** Whether a RST, a SYN or an ACK that may be forged gets a challenge ACK. */
  take(now: number): boolean {
    if (now - this.#since >= CHALLENGE_INTERVAL) {
      this.#since = now;
      this.#left = MAX_CHALLENGE_ACKS;
    }
    if (this.#left === 0) return false;
    this.#left--;
    return true;
  }

  /** Whether a segment without data outside of the window gets an ACK; it may be the answer to our own. */
  takeStray(now: number): boolean {
    if (now - this.#strayAt < STRAY_ACK_INTERVAL) return false;
    this.#strayAt = now;
    return true;
  }
}
