import {
  FIRST_RECEIVE_WINDOW,
  LEAST_BUFFER,
  LEAST_GROWTH_INTERVAL,
  MAX_RECEIVE_WINDOW,
} from '../buffer-limits.ts';

const MAX_FIELD = 65_535;
/** The share of the window by which rounding may move its edge. */
const MOST_DRIFT = 1 / 8;

/**
 * The window that is announced (RFC 9293 §3.8.6). It follows what the reader takes and not what arrives;
 * its right edge never moves back. It grows when a reader that keeps up takes more than half of it in a
 * round trip: so a connection that is not read holds no more than the first window.
 */
export class AdvertisedWindow {
  #size = FIRST_RECEIVE_WINDOW;
  readonly #max: number;
  #edge: number;
  #roundTrip = Infinity;
  /** Bytes that the reader took since `#measuredFrom`. */
  #taken = 0;
  #measuredFrom: number;

  constructor(now: number, max = MAX_RECEIVE_WINDOW) {
    this.#max = max;
    this.#size = Math.min(FIRST_RECEIVE_WINDOW, max);
    this.#edge = 0;
    this.#measuredFrom = now;
  }

  /** Bytes that may be unread. */
  get size(): number {
    return this.#size;
  }

  /** The right edge that the peer knows of. */
  get edge(): number {
    return this.#edge;
  }

  /** The least round trip as this side sees it, from echoed timestamps or the handshake, in ms. */
  onRoundTrip(sample: number): void {
    this.#roundTrip = Math.min(this.#roundTrip, sample);
  }

  /** There is no memory for more than the least window; it grows again as the first one does. */
  shrink(): void {
    this.#size = Math.min(this.#size, LEAST_BUFFER);
  }

  /**
   * The reader has taken bytes.
   * @param unread bytes that it could take and has not taken yet.
   * @param mayGrow whether there is memory for a larger window.
   */
  onTaken(bytes: number, unread: number, mayGrow: boolean, now: number): void {
    this.#taken += bytes;
    const interval = Math.max(this.#roundTrip, LEAST_GROWTH_INTERVAL);
    const elapsed = now - this.#measuredFrom;
    // What was taken in a round trip, or in more of them in proportion.
    const rounds = Math.max(1, elapsed / interval);
    const isFast = this.#taken * 2 >= this.#size * rounds;
    if (isFast && mayGrow && unread * 4 <= this.#size) {
      this.#size = Math.min(this.#max, this.#size * 2);
    } else if (elapsed < interval) return;
    this.#taken = 0;
    this.#measuredFrom = now;
  }

  /**
   * Whether a window update is worth a segment (RFC 9293 §3.8.6.2.2): the edge would move by two full
   * segments, and a quarter of the window; or it is nearly closed.
   */
  isUpdateDue(read: number, received: number, mss: number): boolean {
    const gain = read + this.#size - this.#edge;
    if (gain < mss && gain * 2 < this.#size) return false;
    const left = this.#edge - received;
    return gain >= Math.max(2 * mss, this.#size / 4) || left < 2 * mss;
  }

  /**
   * The field of the next segment, which announces it; the edge moves as far as is said.
   * @param scale the shift of RFC 7323 §2; 0 without the option and in a SYN.
   */
  announce(read: number, received: number, mss: number, scale: number): number {
    const unit = 2 ** scale;
    const wanted = read + this.#size;
    // Too little for a segment stays unsaid (RFC 9293 §3.8.6.2.2).
    const isWorth = wanted - this.#edge >= Math.min(mss, this.#size / 2);
    const fresh = isWorth ? Math.floor((wanted - received) / unit) : 0;
    const field = Math.min(Math.max(fresh, this.#repeat(read, received, unit)), MAX_FIELD);
    this.#edge = Math.max(this.#edge, received + field * unit);
    return field;
  }

  /** The edge that the peer knows of, in units from what is received: rounded up, so that it stays. */
  #repeat(read: number, received: number, unit: number): number {
    const units = (this.#edge - received) / unit;
    // Segments smaller than the unit would so move it for ever; what was announced is accepted anyway.
    const isDrifting = this.#edge - read > this.#size * (1 + MOST_DRIFT);
    return Math.max(isDrifting ? Math.floor(units) : Math.ceil(units), 0);
  }
}
