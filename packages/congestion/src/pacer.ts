/** Length of a burst in milliseconds at the pacing rate: the resolution of timers. */
const BURST_TIME = 1;
/** Maximum burst in bytes: one send with segmentation offload. */
const MOST_BURST = 65_536;
/** Minimum burst in packets: a receiver acknowledges every second packet. */
const LEAST_BURST_PACKETS = 2;
/**
 * Milliseconds at the pacing rate that a late timer may compensate for; at least `MOST_BURST` bytes. Otherwise a
 * process that is not scheduled for tens of milliseconds would send a fraction of a low rate, and the controller would
 * conclude that the path cannot carry more.
 */
const MOST_LATENESS = 2;
/** Burst at the start of a connection in packets (RFC 9002 §7.7). */
const INITIAL_BURST_PACKETS = 10;

/**
 * A token bucket: tokens are bytes, and accumulate at the pacing rate up to one burst. A packet may be sent while there
 * are tokens, and may overdraw the bucket by less than its size.
 */
export class Pacer {
  #mtu: number;
  #tokens: number;
  #at = 0;
  #rate = 0;
  #started = false;
  /** Time at which the next burst is due; `undefined` if no burst is awaited. */
  #due: number | undefined;
  #isBehind = false;

  constructor(mtu: number) {
    this.#mtu = mtu;
    this.#tokens = INITIAL_BURST_PACKETS * mtu;
  }

  /** Capacity of the bucket in bytes: the burst if no timer is late. */
  get burst(): number {
    const least = LEAST_BURST_PACKETS * this.#mtu;
    return Math.max(least, Math.min(this.#rate * BURST_TIME, MOST_BURST));
  }

  /** Returns the number of bytes that may be sent now; if it is 0 or less, nothing may be sent before `nextTime`. */
  budget(now: number): number {
    this.#refill(now);
    return this.#tokens;
  }

  /**
   * Returns the time at which the next burst may be sent: `now` if there are tokens, otherwise when a full burst has
   * accumulated, to keep the number of timers and sends low.
   */
  nextTime(now: number): number {
    this.#refill(now);
    if (this.#tokens > 0 || this.#rate <= 0) return now;
    this.#due = now + (this.burst - this.#tokens) / this.#rate;
    return this.#due;
  }

  /** Called when `bytes` were sent. */
  onSent(bytes: number, now: number): void {
    this.#refill(now);
    this.#tokens -= bytes;
    this.#due = undefined;
  }

  /** Called when there is no data to send, so that later sends do not count as late. */
  onNothingToSend(): void {
    this.#due = undefined;
  }

  /**
   * Whether a timer was so late that less than half of the pacing rate could be sent, so that the delivery rate does
   * not measure the path. Returns true once for each such case.
   */
  takeBehind(): boolean {
    const isBehind = this.#isBehind;
    this.#isBehind = false;
    return isBehind;
  }

  /** Changes the pacing rate, in bytes per millisecond. */
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
    // More time was lost than may be compensated for.
    if (late - madeUp > this.burst + most) this.#isBehind = true;
    // The initial burst may exceed the capacity of the bucket; it is not refilled.
    const full = Math.max(this.burst + madeUp, this.#tokens);
    this.#tokens = Math.min(full, this.#tokens + (now - this.#at) * this.#rate);
    this.#at = now;
  }
}
