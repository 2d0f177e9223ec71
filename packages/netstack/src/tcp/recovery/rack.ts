import type { RttEstimator } from '@weir/congestion';
import { DUPLICATE_THRESHOLD, TIMESTAMP_TICK } from '../../limits.ts';

/** RACK.reo_wnd_persist: recoveries after which the reordering window is reset (RFC 8985 §6.2). */
const PERSISTENCE = 16;
/** Maximum of RACK.reo_wnd_mult, in quarters of the minimum RTT. The window is at most the smoothed RTT anyway. */
const MOST_MULTIPLE = 64;

/**
 * RACK (RFC 8985 §6): the most recently sent segment that was delivered, and the reordering window. A segment
 * is lost if it was sent before that one, and longer ago than a round trip and the reordering window.
 */
export class Rack {
  #transmission = -1;
  #end = 0;
  /** RACK.rtt: the round trip of the most recently sent segment that was delivered; 0 before the first. */
  roundTrip = 0;
  /** RACK.fack: the highest offset acknowledged, cumulatively or by SACK. */
  #highest = 0;
  /** RACK.fack before the current acknowledgement, whose blocks come in any order. */
  #priorHighest = 0;
  /** RACK.reordering_seen: whether an original segment arrived after one that was sent later. */
  reorders = false;
  /** RACK.reo_wnd_mult. */
  #multiple = 1;
  #persistence = PERSISTENCE;
  /** RACK.dsack_round: a DSACK counts again when this offset is acknowledged. */
  #roundEnd = -1;

  /** Begins an acknowledgement. */
  beginAck(): void {
    this.#priorHighest = this.#highest;
  }

  /**
   * Called when a segment is newly acknowledged, cumulatively or not (steps 2 and 3).
   * @param echo see `ReceivedAck`.
   */
  onDelivered(
    sentAt: number,
    transmission: number,
    end: number,
    isRetransmitted: boolean,
    echo: number,
    minRtt: number,
    now: number,
  ): void {
    if (end > this.#highest) this.#highest = end;
    else if (end < this.#priorHighest && !isRetransmitted) this.reorders = true;
    const roundTrip = now - sentAt;
    // The original may have been delivered, rather than the retransmission.
    if (isRetransmitted) {
      if (echo >= 0 && echo + TIMESTAMP_TICK <= sentAt) return;
      if (roundTrip < minRtt) return;
    }
    if (!this.#isNewer(transmission, end)) return;
    this.#transmission = transmission;
    this.#end = end;
    this.roundTrip = roundTrip;
  }

  /** RACK_sent_after: whether a segment was sent before the most recent one that was delivered. */
  isOvertaken(transmission: number, end: number): boolean {
    if (transmission !== this.#transmission) return transmission < this.#transmission;
    return end < this.#end;
  }

  /**
   * Returns the milliseconds after its transmission at which an overtaken segment is lost: RACK.rtt + RACK.reo_wnd
   * (steps 4 and 5).
   * @param sackedBytes bytes reported by SACK beyond SND.UNA.
   */
  lossDelay(recovers: boolean, sackedBytes: number, mss: number, rtt: RttEstimator): number {
    if (!this.reorders && (recovers || sackedBytes >= DUPLICATE_THRESHOLD * mss)) {
      return this.roundTrip;
    }
    const window = Math.min((this.#multiple * rtt.minimum) / 4, rtt.smoothed);
    return this.roundTrip + window;
  }

  /** Called when a retransmission was unnecessary: the reordering window was too small. Counts once per round trip. */
  onSpurious(sndUna: number, sndNxt: number): void {
    if (sndUna < this.#roundEnd) return;
    this.#roundEnd = sndNxt;
    this.reorders = true;
    this.#multiple = Math.min(this.#multiple + 1, MOST_MULTIPLE);
    this.#persistence = PERSISTENCE;
  }

  /** Called when a recovery has ended. */
  onRecovered(): void {
    if (this.#multiple > 1 && --this.#persistence <= 0) this.#multiple = 1;
  }

  #isNewer(transmission: number, end: number): boolean {
    if (transmission !== this.#transmission) return transmission > this.#transmission;
    return end > this.#end;
  }
}
