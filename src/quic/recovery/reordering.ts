import type { RttEstimator } from '../../congestion/rtt.ts';
import { GRANULARITY } from './probe-timeout.ts';

/** kPacketThreshold (RFC 9002 §6.1.1). */
const PACKET_THRESHOLD = 3;
/** kTimeThreshold, in round trips (RFC 9002 §6.1.2). */
const TIME_THRESHOLD = 9 / 8;
/** The upper bounds: that of Linux for tcp_reordering, and that of RFC 8985 §6.2 for RACK's reordering window. */
const MOST_PACKETS = 300;
const MOST_TIME = 2;
/** The amount by which a spurious loss raises the time threshold, once per round trip (RFC 8985 §6.2). */
const TIME_STEP = 1 / 4;
/** Round trips with losses, none of them spurious, after which the thresholds are reset (RFC 8985 §6.2). */
const PERSISTENCE = 16;

/**
 * The thresholds after which a packet is declared lost. They grow with every spurious loss, as RFC 9002 §6.1
 * permits, and are reset when reordering is over.
 */
export class Reordering {
  #packets = PACKET_THRESHOLD;
  #time = TIME_THRESHOLD;
  #raisedAt = -Infinity;
  #roundAt = -Infinity;
  #rounds = 0;

  /** kPacketThreshold: the distance by which an acknowledged packet may be ahead. */
  get packetThreshold(): number {
    return this.#packets;
  }

  /** loss_delay: milliseconds that a packet may be outstanding once a later one was acknowledged. */
  lossDelay(rtt: RttEstimator): number {
    return Math.max(this.#time * Math.max(rtt.latest, rtt.smoothed), GRANULARITY);
  }

  /** Called when a packet was declared lost. */
  onLoss(now: number, sentAt: number): void {
    if (sentAt <= this.#roundAt) return;
    this.#roundAt = now;
    if (++this.#rounds >= PERSISTENCE) this.reset();
  }

  /**
   * Called when a packet that was declared lost was acknowledged.
   * @param distance largest_acked_packet minus its number.
   */
  onSpurious(distance: number, now: number, rtt: RttEstimator): void {
    this.#rounds = 0;
    this.#packets = Math.min(Math.max(this.#packets, distance + 1), MOST_PACKETS);
    if (now - this.#raisedAt < rtt.smoothed) return;
    this.#raisedAt = now;
    this.#time = Math.min(this.#time + TIME_STEP, MOST_TIME);
  }

  reset(): void {
    this.#packets = PACKET_THRESHOLD;
    this.#time = TIME_THRESHOLD;
    this.#rounds = 0;
  }
}
