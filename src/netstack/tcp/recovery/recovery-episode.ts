import type { SendControl } from '../../../congestion/send-control.ts';

/**
 * Losses reported to congestion control, and the bytes retransmitted. If DSACK shows that all retransmissions
 * were unnecessary, there was no loss (RFC 3708, RFC 4653), and the reduction is undone.
 */
export class RecoveryEpisode {
  /** Losses reported and not found to be spurious. */
  #losses = 0;
  #sentAt = 0;
  /** Bytes retransmitted and not reported as duplicates. */
  #resent = 0;
  #firstResentAt = Infinity;

  /** When something was first retransmitted; `Infinity` before. */
  get firstResentAt(): number {
    return this.#firstResentAt;
  }

  onLoss(sentAt: number): void {
    if (this.#losses++ === 0) this.#sentAt = sentAt;
  }

  /** One loss was reported as spurious by itself. */
  onSpurious(): void {
    if (this.#losses > 0) this.#losses--;
  }

  onResent(bytes: number, now: number): void {
    this.#resent += bytes;
    this.#firstResentAt = Math.min(this.#firstResentAt, now);
  }

  /**
   * Bytes arrived twice (DSACK, RFC 2883). Returns whether a retransmission explains that. With the last
   * retransmitted byte, each loss is reported to congestion control as spurious.
   */
  onDuplicate(bytes: number, control: SendControl, now: number): boolean {
    if (this.#resent === 0) return false;
    this.#resent = Math.max(0, this.#resent - bytes);
    if (this.#resent > 0) return true;
    for (; this.#losses > 0; this.#losses--) control.onSpuriousLoss(now, this.#sentAt);
    return true;
  }
}
