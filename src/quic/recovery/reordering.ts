import type { RttEstimator } from '../../congestion/rtt.ts';
import { GRANULARITY } from './probe-timeout.ts';

/** kPacketThreshold (RFC 9002 §6.1.1). */
const PACKET_THRESHOLD = 3;
/** kTimeThreshold, in round trips (RFC 9002 §6.1.2). */
const TIME_THRESHOLD = 9 / 8;
/** The thresholds of a path that reorders much: as Linux bounds tcp_reordering, and as RFC 8985 §6.2 RACK's window. */
const MOST_PACKETS = 300;
const MOST_TIME = 2;
/** By what a spurious loss raises the time threshold, once in a round trip (RFC 8985 §6.2). */
const TIME_STEP = 1 / 4;
/** Rounds with losses, all of them true, after which reordering is taken to be over (RFC 8985 §6.2). */
const PERSISTENCE = 16;

/**
 * How late a packet must be to be taken for lost. The thresholds grow when that proves to be wrong, which
 * RFC 9002 §6.1 leaves open, and fall back when reordering is over.
 */
export class Reordering {
  #packets = PACKET_THRESHOLD;
  #time = TIME_THRESHOLD;
  #raisedAt = -Infinity;
  #roundAt = -Infinity;
  #rounds = 0;

  /** Packets that were sent later and have arrived. */
  get packetThreshold(): number {
    return this.#packets;
  }

  /** Milliseconds since it was sent, once any later one has arrived. */
  lossDelay(rtt: RttEstimator): number {
    return Math.max(this.#time * Math.max(rtt.latest, rtt.smoothed), GRANULARITY);
  }

  /** A packet is lost. */
  onLoss(now: number, sentAt: number): void {
    if (sentAt <= this.#roundAt) return;
    this.#roundAt = now;
    if (++this.#rounds >= PERSISTENCE) this.reset();
  }

  /**
   * A lost packet has arrived.
   * @param distance by how much the number of the newest arrived packet exceeds its own.
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
