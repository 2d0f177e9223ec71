import type { RateSample } from './controller.ts';

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
