import type { RateSample } from './controller.ts';

/**
 * The recovery period of RFC 9002 §7.3.2: it starts with a reduction of the window, and losses of packets sent before
 * its start cause no further reduction. Its losses are counted, to detect that all of them were spurious.
 */
export class RecoveryEpoch {
  #startedAt = -Infinity;
  #previousStart = -Infinity;
  #lost = 0;

  /** Processes a loss. Returns whether a new period starts: the window must be reduced. */
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

  /** Processes ECN-CE. Returns whether a new period starts, which cannot be undone. */
  onCongestionExperienced(now: number, sentAt: number): boolean {
    if (sentAt <= this.#startedAt) return false;
    this.#previousStart = this.#startedAt;
    this.#startedAt = now;
    this.#lost = Infinity;
    return true;
  }

  /**
   * Processes a spurious loss. Returns whether it was the last loss of the period: the reduction must then be undone,
   * and the period has ended.
   */
  onSpuriousLoss(sentAt: number): boolean {
    if (sentAt > this.#startedAt || sentAt <= this.#previousStart || this.#lost === 0) return false;
    this.#lost--;
    if (this.#lost > 0) return false;
    this.#startedAt = this.#previousStart;
    return true;
  }

  /** Whether a packet was sent before the period started: its acknowledgement does not grow the window. */
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

/**
 * Counts packet-timed round trips: a round ends with the acknowledgement of a packet that was sent after the
 * previous round had ended (draft-ietf-ccwg-bbr, "Tracking Packet-Timed Round Trips").
 */
export class RoundCounter {
  count = 0;
  /** Whether the last acknowledgement started a round. */
  started = false;
  #endsAt = 0;

  update(rate: RateSample): void {
    this.started = rate.priorDelivered >= this.#endsAt;
    if (!this.started) return;
    this.#endsAt = rate.totalDelivered;
    this.count++;
  }

  /** Starts a round now; the current one does not count. */
  restart(totalDelivered: number): void {
    this.#endsAt = totalDelivered;
  }
}
