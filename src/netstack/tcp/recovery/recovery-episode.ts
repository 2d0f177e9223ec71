import type { SendControl } from '../../../congestion/send-control.ts';

/**
 * The losses that congestion control heard of since a recovery began, and what was sent again. When all
 * of it proves to have arrived twice, there was no loss (RFC 3708, RFC 4653): the reduction is taken back.
 */
export class RecoveryEpisode {
  /** Losses reported and not yet found to be spurious. */
  #losses = 0;
  #sentAt = 0;
  /** Bytes sent again that were not reported as duplicates. */
  #resent = 0;
  #firstResentAt = Infinity;

  /** When something was first sent again; `Infinity` before. */
  get firstResentAt(): number {
    return this.#firstResentAt;
  }

  onLoss(sentAt: number): void {
    if (this.#losses++ === 0) this.#sentAt = sentAt;
  }

  /** A loss was reported as spurious on its own. */
  onSpurious(): void {
    if (this.#losses > 0) this.#losses--;
  }

  onResent(bytes: number, now: number): void {
    this.#resent += bytes;
    this.#firstResentAt = Math.min(this.#firstResentAt, now);
  }

  /**
   * Bytes arrived twice (DSACK, RFC 2883). Returns whether that is explained by what was sent again; if
   * it was the last of it, congestion control hears that each loss was spurious.
   */
  onDuplicate(bytes: number, control: SendControl, now: number): boolean {
    if (this.#resent === 0) return false;
    this.#resent = Math.max(0, this.#resent - bytes);
    if (this.#resent > 0) return true;
    for (; this.#losses > 0; this.#losses--) control.onSpuriousLoss(now, this.#sentAt);
    return true;
  }
}
