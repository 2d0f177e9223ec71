import {
  FIRST_RECEIVE_WINDOW,
  LEAST_BUFFER,
  LEAST_GROWTH_INTERVAL,
  MAX_RECEIVE_WINDOW,
} from '../buffer-limits.ts';

const MAX_FIELD = 65_535;
/** The share of the window by which rounding may move its right edge. */
const MOST_DRIFT = 1 / 8;

/**
 * RCV.WND (RFC 9293 §3.8.6). The window opens as the reader takes data, not as data arrives, and its right edge never
 * moves back. Its size doubles when a reader that keeps up takes at least half of it in a round trip, so a
 * connection that is not read holds no more than the first window.
 */
export class AdvertisedWindow {
  #size = FIRST_RECEIVE_WINDOW;
  #max: number;
  #edge: number;
  #roundTrip = Infinity;
  /** Number of bytes that the reader has taken since `#measuredFrom`. */
  #taken = 0;
  #measuredFrom: number;

  constructor(now: number, max = MAX_RECEIVE_WINDOW) {
    this.#max = max;
    this.#size = Math.min(FIRST_RECEIVE_WINDOW, max);
    this.#edge = 0;
    this.#measuredFrom = now;
  }

  /** The size of the window in bytes: the most that may be unread. */
  get size(): number {
    return this.#size;
  }

  /** RCV.NXT + RCV.WND: the right edge, as announced to the peer. */
  get edge(): number {
    return this.#edge;
  }

  /** Records a round trip in milliseconds, from echoed timestamps or the handshake; the minimum is used. */
  onRoundTrip(sample: number): void {
    this.#roundTrip = Math.min(this.#roundTrip, sample);
  }

  /** Limits the window to `most`, the largest that can be announced without window scaling. */
  limit(most: number): void {
    this.#max = Math.min(this.#max, most);
    this.#size = Math.min(this.#size, most);
  }

  /** Shrinks the window to `LEAST_BUFFER`, since the shared memory is used up; it may grow again from there. */
  shrink(): void {
    this.#size = Math.min(this.#size, LEAST_BUFFER);
  }

  /**
   * Called when the reader has taken bytes.
   * @param unread bytes that it has not taken yet, without those after a gap.
   * @param mayGrow whether the window may grow: see `SharedMemory`.
   */
  onTaken(bytes: number, unread: number, mayGrow: boolean, now: number): void {
    this.#taken += bytes;
    const interval = Math.max(this.#roundTrip, LEAST_GROWTH_INTERVAL);
    const elapsed = now - this.#measuredFrom;
    // Half of the window per round trip, over one round trip or more.
    const rounds = Math.max(1, elapsed / interval);
    const isFast = this.#taken * 2 >= this.#size * rounds;
    if (isFast && mayGrow && unread * 4 <= this.#size) {
      this.#size = Math.min(this.#max, this.#size * 2);
    } else if (elapsed < interval) return;
    this.#taken = 0;
    this.#measuredFrom = now;
  }

  /**
   * Whether a window update is due (receiver's silly window syndrome avoidance, RFC 9293 §3.8.6.2.2): the right
   * edge moves by at least two full segments and a quarter of the window, or the window is nearly closed.
   */
  isUpdateDue(read: number, received: number, mss: number): boolean {
    const gain = read + this.#size - this.#edge;
    if (gain < mss && gain * 2 < this.#size) return false;
    const left = this.#edge - received;
    return gain >= Math.max(2 * mss, this.#size / 4) || left < 2 * mss;
  }

  /**
   * Returns the window field of the next segment. Moves the right edge to the announced one.
   * @param scale Rcv.Wind.Shift (RFC 7323 §2.3); 0 without the option and in a SYN.
   */
  announce(read: number, received: number, mss: number, scale: number): number {
    const unit = 2 ** scale;
    const wanted = read + this.#size;
    // Less than a segment is not announced (RFC 9293 §3.8.6.2.2).
    const isWorth = wanted - this.#edge >= Math.min(mss, this.#size / 2);
    const fresh = isWorth ? Math.floor((wanted - received) / unit) : 0;
    const field = Math.min(Math.max(fresh, this.#repeat(read, received, unit)), MAX_FIELD);
    this.#edge = Math.max(this.#edge, received + field * unit);
    return field;
  }

  /** Returns the window field that keeps the right edge where it is: rounded up, because the window must not shrink. */
  #repeat(read: number, received: number, unit: number): number {
    const units = (this.#edge - received) / unit;
    // Rounding up moves the edge with each segment smaller than the unit. Beyond a limit the field is rounded down;
    // data up to the announced edge is still accepted.
    const isDrifting = this.#edge - read > this.#size * (1 + MOST_DRIFT);
    return Math.max(isDrifting ? Math.floor(units) : Math.ceil(units), 0);
  }
}
