/** A burst is what the rate sends in this time: timers fire to the millisecond. */
const BURST_TIME = 1;
/** The most of a burst: one send with segmentation offload takes as much. */
const MOST_BURST = 65_536;
/** The least of a burst, in packets: a receiver acknowledges every second packet. */
const LEAST_BURST_PACKETS = 2;
/**
 * How much of a late timer's time is made up for, in milliseconds of the rate, but no less than
 * `MOST_BURST`: a process that waits for the processor for tens of milliseconds would else send a small
 * part of a low rate, from which a controller concludes that the path takes no more.
 */
const MOST_LATENESS = 2;
/** What may leave at once when a connection starts or wakes (RFC 9002 §7.7). */
const INITIAL_BURST_PACKETS = 10;

/**
 * A token bucket: tokens are bytes, they grow with the pacing rate up to one burst. A packet may leave
 * when there are tokens, and may overdraw them by less than itself.
 */
export class Pacer {
  #mtu: number;
  #tokens: number;
  #at = 0;
  #rate = 0;
  #started = false;
  /** When the burst is due that is waited for. */
  #due: number | undefined;
  #isBehind = false;

  constructor(mtu: number) {
    this.#mtu = mtu;
    this.#tokens = INITIAL_BURST_PACKETS * mtu;
  }

  /** Bytes of a full bucket, which leave at once when no timer is late. */
  get burst(): number {
    const least = LEAST_BURST_PACKETS * this.#mtu;
    return Math.max(least, Math.min(this.#rate * BURST_TIME, MOST_BURST));
  }

  /** Bytes that may leave now; 0 or less: none before `nextTime`. */
  budget(now: number): number {
    this.#refill(now);
    return this.#tokens;
  }

  /**
   * When the next burst may leave: `now` or before when there are tokens, else as soon as a
   * full burst has gathered, so that few timers and few sends move the data.
   */
  nextTime(now: number): number {
    this.#refill(now);
    if (this.#tokens > 0 || this.#rate <= 0) return now;
    this.#due = now + (this.burst - this.#tokens) / this.#rate;
    return this.#due;
  }

  /** So many bytes have left. */
  onSent(bytes: number, now: number): void {
    this.#refill(now);
    this.#tokens -= bytes;
    this.#due = undefined;
  }

  /** There is nothing to send: what comes later is not late. */
  onNothingToSend(): void {
    this.#due = undefined;
  }

  /**
   * Whether a timer was so late that less than half of the rate could be sent, which then says nothing
   * of the path. Returns true once for each such time.
   */
  takeBehind(): boolean {
    const isBehind = this.#isBehind;
    this.#isBehind = false;
    return isBehind;
  }

  /** The rate from now on, in bytes per millisecond. */
  setRate(rate: number, now: number): void {
    if (rate === this.#rate) return;
    this.#refill(now);
    this.#rate = rate;
  }

  setMtu(bytes: number): void {
    this.#mtu = bytes;
  }

  #refill(now: number): void {
    if (!this.#started) {
      this.#started = true;
      this.#at = now;
      return;
    }
    if (now <= this.#at) return;
    const late = Math.max(now - (this.#due ?? now), 0) * this.#rate;
    const most = Math.max(MOST_LATENESS * this.#rate, MOST_BURST);
    const madeUp = Math.min(late, most);
    // More is lost than was sent and is sent now.
    if (late - madeUp > this.burst + most) this.#isBehind = true;
    // The initial burst may lie above a full bucket; it is used up, but not filled again.
    const full = Math.max(this.burst + madeUp, this.#tokens);
    this.#tokens = Math.min(full, this.#tokens + (now - this.#at) * this.#rate);
    this.#at = now;
  }
}
