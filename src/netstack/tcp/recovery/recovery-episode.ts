import type { SendControl } from '../../../congestion/send-control.ts';

/**
 * Losses reported to congestion control in one recovery, and the bytes retransmitted. If DSACK shows that all
 * retransmissions were unnecessary, there was no loss (RFC 3708, RFC 4653), and the reduction is undone.
 *
 * DSACK may arrive after the recovery, so the record is kept until the next one begins.
 */
export class RecoveryEpisode {
  #isOver = true;
  /** SND.UNA at the beginning of the recovery: retransmissions below belong to earlier recoveries. */
  #from = 0;
  /** Number of losses reported and not found to be spurious. */
  #losses = 0;
  #sentAt = 0;
  /** Number of bytes retransmitted and not reported as duplicates. */
  #resent = 0;
  #firstResentAt = Infinity;

  /** Time at which data was first retransmitted; `Infinity` before. */
  get firstResentAt(): number {
    return this.#firstResentAt;
  }

  /** Records a loss; the first one after `end` begins another record. */
  onLoss(sentAt: number, sndUna: number): void {
    if (this.#isOver) this.#begin(sndUna);
    if (this.#losses++ === 0) this.#sentAt = sentAt;
  }

  /** Records that one loss was reported as spurious by itself. */
  onSpurious(): void {
    if (this.#losses > 0) this.#losses--;
  }

  onResent(bytes: number, now: number): void {
    this.#resent += bytes;
    this.#firstResentAt = Math.min(this.#firstResentAt, now);
  }

  /** Called when the recovery has ended. */
  end(): void {
    this.#isOver = true;
  }

  /**
   * Records that bytes arrived twice (DSACK, RFC 2883). Returns whether a retransmission explains that. With the last
   * retransmitted byte, each loss is reported to congestion control as spurious.
   */
  onDuplicate(start: number, end: number, control: SendControl, now: number): boolean {
    if (this.#resent === 0) return false;
    if (start < this.#from) return true;
    this.#resent = Math.max(0, this.#resent - (end - start));
    if (this.#resent > 0) return true;
    for (; this.#losses > 0; this.#losses--) control.onSpuriousLoss(now, this.#sentAt);
    return true;
  }

  #begin(sndUna: number): void {
    this.#isOver = false;
    this.#from = sndUna;
    this.#losses = 0;
    this.#resent = 0;
    this.#firstResentAt = Infinity;
  }
}
