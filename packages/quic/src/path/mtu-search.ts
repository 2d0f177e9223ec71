import { MIN_DATAGRAM } from '../limits.ts';

/**
 * Sizes that occur in practice: UDP payloads of IPv6 and IPv4 packets over links of 1,280, 1,420 (WireGuard),
 * 1,476 (GRE), 1,492 (PPPoE), 1,500 and 9,000 bytes, and steps between and beyond them.
 */
const CANDIDATES = [
  1232, 1252, 1312, 1372, 1392, 1428, 1444, 1452, 1464, 1472, 2048, 4096, 8952, 8972, 16_384,
  32_768,
];
/** BASE_PLPMTU: the size that the path is assumed to support. If the limit is equal, there is no search. */
const BASE = MIN_DATAGRAM;
/** MAX_PROBES: lost probes after which a size is considered too large (RFC 8899 §5.1.2). */
const MAX_PROBES = 3;
/** PMTU_RAISE_TIMER: milliseconds until the next search (RFC 8899 §5.1.1). */
const SEARCH_AGAIN_AFTER = 600_000;
/** Milliseconds until the next search after probe timeouts: the path may have been down altogether. */
const SEARCH_AFTER_SILENCE = 60_000;
/** Losses of larger datagrams, or probe timeouts, in a row after which a black hole is assumed. */
const BLACK_HOLE = 3;

/**
 * DPLPMTUD: the search for the largest datagram that a path supports (RFC 8899, RFC 9000 §14.3). The largest size
 * is probed first, because it usually passes; then a binary search over the candidates below it. One probe is in
 * flight at a time, and its loss is not a sign of congestion.
 *
 * All sizes are bytes of UDP payload. `current` changes only within calls, after which the owner reads it.
 */
export class MtuSearch {
  #sizes: number[];
  #most: number;
  /** The current maximum size of a datagram. */
  current = BASE;
  /** The smallest size known to be too large. */
  #tooLarge = Infinity;
  #state: 'searching' | 'complete' = 'searching';
  /** Time at which the next search starts; Infinity if none is scheduled. */
  timeout = Infinity;
  /** The size of the probe in flight; 0 for none. */
  #probing = 0;
  /** The size being probed until it is confirmed or too large, 0 for none; and the number of its lost probes. */
  #trying = 0;
  #lost = 0;
  #isFirst = true;
  #lossEvents = 0;
  #lastLossAt = -Infinity;
  /** The size before a fallback to the base; 0 once a search has started. */
  #before = 0;

  /** @param most MAX_PLPMTU: the limit of the interface and of the peer's max_udp_payload_size. */
  constructor(most: number) {
    this.#most = Math.max(BASE, most);
    this.#sizes = sizesUpTo(this.#most);
  }

  /** Sets the upper limit, when the peer's transport parameters have arrived. */
  setMost(bytes: number): void {
    this.#most = Math.max(BASE, bytes);
    this.#sizes = sizesUpTo(this.#most);
    this.#before = 0;
    this.current = Math.min(this.current, this.#most);
    this.#isFirst = true;
    this.#trying = 0;
  }

  /**
   * Returns the size of a probe to send now; 0 for none. Call only after the handshake is confirmed, when the
   * congestion window has room.
   */
  probeSize(now: number): number {
    if (this.#probing > 0) return 0;
    if (now >= this.timeout) {
      this.timeout = Infinity;
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

  /** Called when the path is no longer active: the result of a probe in flight will not be reported. */
  abandonProbe(): void {
    this.#probing = 0;
  }

  /** Called when a probe was acknowledged. Returns whether `current` is larger now. */
  onProbeAcknowledged(size: number, now: number): boolean {
    const isAwaited = size === this.#probing;
    if (isAwaited) {
      this.#probing = 0;
      this.#lost = 0;
    }
    // A late acknowledgement, after a black hole or a lower upper limit, is not used.
    if (size <= this.current || size > this.#most || size >= this.#tooLarge) return false;
    this.current = size;
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
   * Called when a packet that was not a probe, in a datagram of this size, was acknowledged. If the size is larger than
   * `current`, there was no black hole: the peer was only silent, as on an overloaded host.
   */
  onAcknowledged(bytes: number): void {
    if (bytes <= BASE) return;
    this.#lossEvents = 0;
    if (bytes > this.current && bytes <= Math.min(this.#before, this.#most)) this.current = bytes;
  }

  /**
   * Called when a packet that was not a probe, in a datagram of this size, was lost. Returns whether `current` fell
   * back to the base: a black hole, larger datagrams no longer arrive (RFC 8899 §4.3).
   */
  onLost(bytes: number, sentAt: number, now: number): boolean {
    if (bytes <= BASE || this.current === BASE) return false;
    // Losses of one flight are one event, even if timers detect them one by one: its end may have met a full buffer.
    if (sentAt <= this.#lastLossAt) return false;
    this.#lastLossAt = now;
    if (++this.#lossEvents < BLACK_HOLE) return false;
    this.#fallBack(now + SEARCH_AGAIN_AFTER);
    return true;
  }

  /**
   * Called after `count` probe timeouts in a row. If all datagrams are large, nothing arrives through a black hole, so
   * no acknowledgement reveals the losses. Returns whether `current` fell back to the base.
   */
  onProbeTimeout(count: number, now: number): boolean {
    if (count < BLACK_HOLE || this.current === BASE) return false;
    this.#fallBack(now + SEARCH_AFTER_SILENCE);
    return true;
  }

  /**
   * Called when the system refused a datagram of this size (EMSGSIZE). Returns whether `current` fell back to the base.
   */
  onTooLarge(bytes: number, now: number): boolean {
    if (bytes === this.#probing) {
      this.#probing = 0;
      this.#lost = 0;
    }
    this.#tooLarge = Math.min(this.#tooLarge, Math.max(bytes, BASE + 1));
    if (bytes > this.current || this.current === BASE) return false;
    this.#fallBack(now + SEARCH_AGAIN_AFTER);
    return true;
  }

  /** Returns the next size to probe; 0 if none is left. */
  #next(): number {
    const tried = this.#trying;
    if (tried > this.current && tried < this.#tooLarge && tried <= this.#most) return tried;
    this.#lost = 0;
    const left = this.#sizes.filter((size) => size > this.current && size < this.#tooLarge);
    const index = this.#isFirst ? left.length - 1 : Math.floor(left.length / 2);
    return left[index] ?? 0;
  }

  #complete(now: number): void {
    this.#state = 'complete';
    this.timeout = this.current < this.#most ? now + SEARCH_AGAIN_AFTER : Infinity;
  }

  #fallBack(searchAt: number): void {
    this.#before = Math.min(this.current, this.#tooLarge - 1);
    this.current = BASE;
    this.#state = 'complete';
    this.timeout = searchAt;
    this.#probing = 0;
    this.#lost = 0;
    this.#lossEvents = 0;
  }
}

const sizesUpTo = (most: number): number[] =>
  most > BASE ? [...CANDIDATES.filter((size) => size < most), most] : [];
