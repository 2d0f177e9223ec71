/** Milliseconds of the rate in a burst: the resolution of timers. */
const BURST_TIME = 1;
/** The largest burst in bytes: one send with segmentation offload. */
const MOST_BURST = 65_536;
/** The smallest burst in packets: a receiver acknowledges every second packet. */
const LEAST_BURST_PACKETS = 2;
/**
 * How much a late timer may make up for, in milliseconds of the rate; at least `MOST_BURST`. Otherwise a process
 * that waits tens of milliseconds for the processor would send a fraction of a low rate, and a controller would
 * conclude that the path carries no more.
 */
const MOST_LATENESS = 2;
/** The burst at the start of a connection (RFC 9002 §7.7). */
const INITIAL_BURST_PACKETS = 10;

/**
 * A token bucket: tokens are bytes, and accumulate at the pacing rate up to one burst. A packet may be sent while
 * there are tokens, and may overdraw them by less than its size.
 */
export class Pacer {
  #mtu: number;
  #tokens: number;
  #at = 0;
  #rate = 0;
  #started = false;
  /** When the next burst is due; `undefined` if none is waited for. */
  #due: number | undefined;
  #isBehind = false;

  constructor(mtu: number) {
    this.#mtu = mtu;
    this.#tokens = INITIAL_BURST_PACKETS * mtu;
  }

  /** Bytes of a full bucket: the burst when no timer is late. */
  get burst(): number {
    const least = LEAST_BURST_PACKETS * this.#mtu;
    return Math.max(least, Math.min(this.#rate * BURST_TIME, MOST_BURST));
  }

  /** Bytes that may be sent now; 0 or less: none before `nextTime`. */
  budget(now: number): number {
    this.#refill(now);
    return this.#tokens;
  }

  /**
   * When the next burst may be sent: `now` if there are tokens, else when a full burst has accumulated, so that
   * few timers and few sends are needed.
   */
  nextTime(now: number): number {
    this.#refill(now);
    if (this.#tokens > 0 || this.#rate <= 0) return now;
    this.#due = now + (this.burst - this.#tokens) / this.#rate;
    return this.#due;
  }

  /** `bytes` were sent. */
  onSent(bytes: number, now: number): void {
    this.#refill(now);
    this.#tokens -= bytes;
    this.#due = undefined;
  }

  /** There is nothing to send, so what follows is not late. */
  onNothingToSend(): void {
    this.#due = undefined;
  }

  /**
   * Whether a timer was so late that less than half of the rate could be sent, so that the rate does not measure
   * the path. True once for each such case.
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
    // More time was lost than is made up for.
    if (late - madeUp > this.burst + most) this.#isBehind = true;
    // The initial burst may exceed a full bucket; it is not refilled.
    const full = Math.max(this.burst + madeUp, this.#tokens);
    this.#tokens = Math.min(full, this.#tokens + (now - this.#at) * this.#rate);
    this.#at = now;
  }
}
