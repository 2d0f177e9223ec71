import { BASE_DATAGRAM } from './limits.ts';

/**
 * Sizes that paths really have: UDP payloads of IPv6 and IPv4 packets over links of 1,280, 1,420
 * (WireGuard), 1,476 (GRE), 1,492 (PPPoE), 1,500 and 9,000 bytes, and steps between and beyond them.
 */
const CANDIDATES = [
  1232, 1252, 1312, 1372, 1392, 1428, 1444, 1452, 1464, 1472, 2048, 4096, 8952, 8972, 16_384,
  32_768,
];
/** Lost probes of one size after which it is taken to be too large (RFC 8899 §5.1.2, MAX_PROBES). */
const MAX_PROBES = 3;
/** Until the next search, in milliseconds (RFC 8899 §5.1.1, PMTU_RAISE_TIMER). */
const SEARCH_AGAIN_AFTER = 600_000;
/** The same when timeouts ended the last one: the path may have been down altogether. */
const SEARCH_AFTER_SILENCE = 60_000;
/** Times in a row that larger datagrams were lost without one arriving, or probe timeouts in a row. */
const BLACK_HOLE = 3;

/**
 * The search for the largest datagram that a path takes (DPLPMTUD: RFC 8899, RFC 9000 §14.3). The largest
 * size is tried first, because mostly it is right; then the candidates below are halved until the
 * last that arrived and the first that did not are neighbours. One probe is in flight at a time, and its
 * loss is no sign of congestion.
 *
 * All sizes are bytes of UDP payload. `current` changes only within calls: their owner looks at it after.
 */
export class MtuSearch {
  readonly #base: number;
  #sizes: number[];
  #most: number;
  #current: number;
  /** Sizes from this one on do not pass. */
  #tooLarge = Infinity;
  #state: 'searching' | 'complete' = 'searching';
  #searchAt = Infinity;
  /** The size of the probe in flight; 0 for none. */
  #probing = 0;
  /** The size that is tried until it proves right or too large; 0 for none, and how often it was lost. */
  #trying = 0;
  #lost = 0;
  #isFirst = true;
  #lossEvents = 0;
  #lastLossAt = -Infinity;
  /** The size before a fall back to the base; 0 when a search has begun since. */
  #before = 0;

  /**
   * @param options.base what the path is taken to carry: 1,200.
   * @param options.most the largest size that is of use: what the interface and the peer's
   *   max_udp_payload_size allow. With a `most` of `base` there is no search.
   */
  constructor(options: { readonly base?: number; readonly most: number }) {
    this.#base = options.base ?? BASE_DATAGRAM;
    this.#current = this.#base;
    this.#most = Math.max(this.#base, options.most);
    this.#sizes = sizesBetween(this.#base, this.#most);
  }

  /** Bytes that a datagram may have now. */
  get current(): number {
    return this.#current;
  }

  /** When a new search begins; Infinity when none is waited for. */
  get timeout(): number {
    return this.#searchAt;
  }

  /** The upper end is known better: the peer's transport parameters have arrived. */
  setMost(bytes: number): void {
    this.#most = Math.max(this.#base, bytes);
    this.#sizes = sizesBetween(this.#base, this.#most);
    this.#before = 0;
    this.#current = Math.min(this.#current, this.#most);
    this.#isFirst = true;
    this.#trying = 0;
  }

  /**
   * The size of a probe to send now; 0 for none. It is to be asked after the handshake is confirmed, when
   * the window has room.
   */
  probeSize(now: number): number {
    if (this.#probing > 0) return 0;
    if (now >= this.#searchAt) {
      this.#searchAt = Infinity;
      this.#tooLarge = Infinity;
      this.#before = 0;
      this.#state = 'searching';
      this.#isFirst = true;
      this.#trying = 0;
    }
    if (this.#state === 'complete') return 0;
    const size = this.#next();
    if (size === 0) this.#complete(now);
    return size;
  }

  onProbeSent(size: number): void {
    this.#probing = size;
    this.#trying = size;
    this.#isFirst = false;
  }

  /** The path is left: what becomes of a probe in flight is not reported. */
  abandonProbe(): void {
    this.#probing = 0;
  }

  /** Returns whether `current` is larger now. */
  onProbeAcknowledged(size: number, now: number): boolean {
    const isAwaited = size === this.#probing;
    if (isAwaited) {
      this.#probing = 0;
      this.#lost = 0;
    }
    // A late acknowledgement, after a black hole or a lower upper end, proves nothing new.
    if (size <= this.#current || size > this.#most || size >= this.#tooLarge) return false;
    this.#current = size;
    this.#lossEvents = 0;
    if (isAwaited && this.#next() === 0) this.#complete(now);
    return true;
  }

  onProbeLost(size: number, now: number): void {
    if (size !== this.#probing) return;
    this.#probing = 0;
    if (++this.#lost < MAX_PROBES) return;
    this.#lost = 0;
    this.#tooLarge = Math.min(this.#tooLarge, size);
    if (this.#next() === 0) this.#complete(now);
  }

  /**
   * A packet in a datagram of this size arrived that was no probe. When it is larger than `current`, there
   * was no black hole: the peer was only silent, as on a host that has no processor for it.
   */
  onAcknowledged(bytes: number): void {
    if (bytes <= this.#base) return;
    this.#lossEvents = 0;
    if (bytes > this.#current && bytes <= Math.min(this.#before, this.#most)) this.#current = bytes;
  }

  /**
   * A packet in a datagram of this size was lost that was no probe. Returns whether `current` fell back
   * to the base: none of the larger datagrams arrives any more (RFC 8899 §4.3).
   */
  onLost(bytes: number, sentAt: number, now: number): boolean {
    if (bytes <= this.#base || this.#current === this.#base) return false;
    // Losses of one flight are one event, even if timers find them one by one: the end of it may have found a
    // buffer full.
    if (sentAt <= this.#lastLossAt) return false;
    this.#lastLossAt = now;
    if (++this.#lossEvents < BLACK_HOLE) return false;
    this.#fallBack(now + SEARCH_AGAIN_AFTER);
    return true;
  }

  /**
   * Probe timeouts in a row: when all datagrams are large, a black hole lets no acknowledgement through that
   * would show losses. Returns whether `current` fell back to the base.
   */
  onProbeTimeout(count: number, now: number): boolean {
    if (count < BLACK_HOLE || this.#current === this.#base) return false;
    this.#fallBack(now + SEARCH_AFTER_SILENCE);
    return true;
  }

  /** The system refused a datagram of this size (EMSGSIZE). Returns whether `current` fell back to the base. */
  onTooLarge(bytes: number, now: number): boolean {
    if (bytes === this.#probing) {
      this.#probing = 0;
      this.#lost = 0;
    }
    this.#tooLarge = Math.min(this.#tooLarge, Math.max(bytes, this.#base + 1));
    if (bytes > this.#current || this.#current === this.#base) return false;
    this.#fallBack(now + SEARCH_AGAIN_AFTER);
    return true;
  }

  /** The next size to try; 0 when none is left. */
  #next(): number {
    const tried = this.#trying;
    if (tried > this.#current && tried < this.#tooLarge && tried <= this.#most) return tried;
    this.#lost = 0;
    const left = this.#sizes.filter((size) => size > this.#current && size < this.#tooLarge);
    const index = this.#isFirst ? left.length - 1 : Math.floor(left.length / 2);
    return left[index] ?? 0;
  }

  #complete(now: number): void {
    this.#state = 'complete';
    this.#searchAt = this.#current < this.#most ? now + SEARCH_AGAIN_AFTER : Infinity;
  }

  #fallBack(searchAt: number): void {
    this.#before = Math.min(this.#current, this.#tooLarge - 1);
    this.#current = this.#base;
    this.#state = 'complete';
    this.#searchAt = searchAt;
    this.#probing = 0;
    this.#lost = 0;
    this.#lossEvents = 0;
  }
}

const sizesBetween = (base: number, most: number): number[] =>
  most > base ? [...CANDIDATES.filter((size) => size > base && size < most), most] : [];
