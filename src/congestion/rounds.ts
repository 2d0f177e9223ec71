import type { RateSample } from './controller.ts';

/**
 * Counts round trips by data instead of by a clock: one ends with the acknowledgement of a packet that
 * was sent after the previous one had ended (draft-ietf-ccwg-bbr, "Tracking Packet-Timed Round Trips").
 */
export class RoundCounter {
  count = 0;
  /** Whether the newest acknowledgement has ended a round. */
  started = false;
  #endsAt = 0;

  update(rate: RateSample): void {
    this.started = rate.priorDelivered >= this.#endsAt;
    if (!this.started) return;
    this.#endsAt = rate.totalDelivered;
    this.count++;
  }

  /** Lets a round begin now; the one under way does not count. */
  restart(totalDelivered: number): void {
    this.#endsAt = totalDelivered;
  }
}
