/** The round trip assumed before one was measured, in milliseconds (RFC 9002 §6.2.2). */
export const INITIAL_RTT = 333;

/**
 * The shortest round trip and interval that is measured, in milliseconds: on one host the clock may not
 * have moved at all, and a rate is never infinite.
 */
export const LEAST_TIME = 0.001;

/** Round-trip time as RFC 9002 §5 estimates it. All values in milliseconds. */
export class RttEstimator {
  #latest = 0;
  #minimum = 0;
  #smoothed = INITIAL_RTT;
  #variation = INITIAL_RTT / 2;
  #firstSampleAt: number | undefined;

  /** The newest sample; 0 before the first. */
  get latest(): number {
    return this.#latest;
  }

  /** The least sample ever, without any acknowledgement delay subtracted; 0 before the first. */
  get minimum(): number {
    return this.#minimum;
  }

  /** `INITIAL_RTT` before the first sample. */
  get smoothed(): number {
    return this.#smoothed;
  }

  get variation(): number {
    return this.#variation;
  }

  /** When the first sample was taken (§7.6.2 needs it); `undefined` before. */
  get firstSampleAt(): number | undefined {
    return this.#firstSampleAt;
  }

  /**
   * Takes a sample: the newest acknowledged packet was sent `measured` milliseconds ago.
   * @param ackDelay the delay that the peer reports, already limited to its max_ack_delay once the
   *   handshake is confirmed, and 0 for Initial packets (§5.3).
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
    // A delay is only subtracted as far as the path itself allows.
    const adjusted = sample >= this.#minimum + ackDelay ? sample - ackDelay : sample;
    this.#variation = 0.75 * this.#variation + 0.25 * Math.abs(this.#smoothed - adjusted);
    this.#smoothed = 0.875 * this.#smoothed + 0.125 * adjusted;
  }

  /** Starts the minimum again from the newest sample, after persistent congestion (§5.2). */
  restartMinimum(): void {
    this.#minimum = this.#latest;
  }

  /** Forgets everything: the path is another one (RFC 9000 §9.4). */
  reset(): void {
    this.#latest = 0;
    this.#minimum = 0;
    this.#smoothed = INITIAL_RTT;
    this.#variation = INITIAL_RTT / 2;
    this.#firstSampleAt = undefined;
  }
}
