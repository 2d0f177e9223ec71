/**
 * The recovery period of RFC 9002 §7.3.2: losses of what was sent before it began belong to the one
 * reduction of the window that began it. Also counts whether all of them were spurious.
 */
export class RecoveryEpoch {
  #startedAt = -Infinity;
  #previousStart = -Infinity;
  #lost = 0;

  /** Takes a loss; returns whether it begins a new period, in which the window is to be reduced. */
  onLoss(now: number, sentAt: number): boolean {
    if (sentAt <= this.#startedAt) {
      if (sentAt > this.#previousStart) this.#lost++;
      return false;
    }
    this.#previousStart = this.#startedAt;
    this.#startedAt = now;
    this.#lost = 1;
    return true;
  }

  /** Congestion without a loss; returns whether it begins a new period, which cannot be undone. */
  onCongestionExperienced(now: number, sentAt: number): boolean {
    if (sentAt <= this.#startedAt) return false;
    this.#previousStart = this.#startedAt;
    this.#startedAt = now;
    this.#lost = Infinity;
    return true;
  }

  /**
   * A lost packet has arrived after all; returns whether it was the last one of the period, so that
   * its reduction is to be undone. The period is over then.
   */
  onSpuriousLoss(sentAt: number): boolean {
    if (sentAt > this.#startedAt || sentAt <= this.#previousStart || this.#lost === 0) return false;
    this.#lost--;
    if (this.#lost > 0) return false;
    this.#startedAt = this.#previousStart;
    return true;
  }

  /** Whether a packet sent then was sent in or before the period: its acknowledgement grows nothing. */
  covers(sentAt: number): boolean {
    return sentAt <= this.#startedAt;
  }

  /** Ends the period, after persistent congestion. */
  end(): void {
    this.#startedAt = -Infinity;
    this.#previousStart = -Infinity;
    this.#lost = 0;
  }
}
