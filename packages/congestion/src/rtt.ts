/** kInitialRtt: the round-trip time assumed before the first sample, in milliseconds (RFC 9002 §6.2.2). */
export const INITIAL_RTT = 333;

/**
 * Minimum round-trip time and interval that is measured, in milliseconds. On a single host the clock may not have
 * advanced, and a rate must not be infinite.
 */
export const LEAST_TIME = 0.001;

/** Estimates the round-trip time (RFC 9002 §5). All times are in milliseconds. */
export class RttEstimator {
  #latest = 0;
  #minimum = 0;
  #smoothed = INITIAL_RTT;
  #variation = INITIAL_RTT / 2;
  #firstSampleAt: number | undefined;

  /** latest_rtt; 0 before the first sample. */
  get latest(): number {
    return this.#latest;
  }

  /** min_rtt, without any acknowledgement delay subtracted; 0 before the first sample. */
  get minimum(): number {
    return this.#minimum;
  }

  /** smoothed_rtt; `INITIAL_RTT` before the first sample. */
  get smoothed(): number {
    return this.#smoothed;
  }

  /** rttvar. */
  get variation(): number {
    return this.#variation;
  }

  /** Time of the first sample (needed by §7.6.2); `undefined` before. */
  get firstSampleAt(): number | undefined {
    return this.#firstSampleAt;
  }

  /**
   * Adds a sample: the largest acknowledged packet was sent `measured` milliseconds ago.
   * @param ackDelay the delay that the peer reported: limited to its max_ack_delay once the handshake is confirmed, and
   * 0 for Initial packets (§5.3).
   */
  update(measured: number, ackDelay: number, now: number): void {
    const sample = Math.max(measured, LEAST_TIME);
    this.#latest = sample;
    if (this.#firstSampleAt === undefined) {
      this.#firstSampleAt = now;
      this.#minimum = sample;
      this.#smoothed = sample;
      this.#variation = sample / 2;
      return;
    }
    this.#minimum = Math.min(this.#minimum, sample);
    // The result must not be below min_rtt (§5.3).
    const adjusted = sample >= this.#minimum + ackDelay ? sample - ackDelay : sample;
    this.#variation = 0.75 * this.#variation + 0.25 * Math.abs(this.#smoothed - adjusted);
    this.#smoothed = 0.875 * this.#smoothed + 0.125 * adjusted;
  }

  /** Sets min_rtt to the latest sample, after persistent congestion (§5.2). */
  restartMinimum(): void {
    this.#minimum = this.#latest;
  }
}
