import { CHALLENGE_INTERVAL, MAX_CHALLENGE_ACKS, STRAY_ACK_INTERVAL } from '../limits.ts';

/**
 * Limits the ACKs in reply to unacceptable segments. Without a limit two ends that disagree would exchange them
 * indefinitely, and an attacker could make a host send them (RFC 5961 §7).
 */
export class ChallengeLimit {
  #left = MAX_CHALLENGE_ACKS;
  #since = -Infinity;
  #strayAt = -Infinity;

  /** Whether a challenge ACK may be sent for a RST, SYN or ACK that may be forged. */
  take(now: number): boolean {
    if (now - this.#since >= CHALLENGE_INTERVAL) {
      this.#since = now;
      this.#left = MAX_CHALLENGE_ACKS;
    }
    if (this.#left === 0) return false;
    this.#left--;
    return true;
  }

  /**
   * Whether an ACK may be sent for a segment without text outside the window: it may itself reply to an ACK of this
   * side.
   */
  takeStray(now: number): boolean {
    if (now - this.#strayAt < STRAY_ACK_INTERVAL) return false;
    this.#strayAt = now;
    return true;
  }
}
