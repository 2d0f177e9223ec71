import type { Deadlines } from '../deadlines.ts';
import { MAX_ACK_DELAY, MAX_DUPLICATE_ACKS, MIN_MSS, QUICK_ACKS } from '../limits.ts';

/**
 * Decides when received data is acknowledged (RFC 9293 §3.8.6.3, RFC 5681 §4.2): at once for every second full
 * segment, for data out of order or filling a gap, and for the first segments of a connection, whose sender
 * is in slow start. Other ACKs are delayed.
 */
export class DelayedAcks {
  readonly #deadlines: Deadlines;
  /** Bytes of the peer's largest segment so far. */
  #fullSegment = MIN_MSS;
  #bytes = 0;
  #quick = QUICK_ACKS;
  #count = 0;
  #isReportDue = false;

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
  }

  /** Number of ACKs to be sent now; more than one only for peers that count duplicate ACKs. */
  get due(): number {
    return this.#count;
  }

  /** Whether SACK blocks have changed since the last report (RFC 2018 §4). */
  get isReportDue(): boolean {
    return this.#isReportDue;
  }

  /** Called when data arrived in order. @param mss payload bytes of the largest segment that the peer may send. */
  onInOrder(bytes: number, mss: number, now: number): void {
    this.#bytes += bytes;
    if (bytes > this.#fullSegment) this.#fullSegment = Math.min(bytes, mss);
    if (this.#quick > 0) {
      this.#quick--;
      this.require();
    } else if (this.#bytes >= 2 * this.#fullSegment) this.require();
    else if (!this.#deadlines.isSet('acknowledgment')) {
      this.#deadlines.set('acknowledgment', now + MAX_ACK_DELAY);
    }
  }

  /**
   * Called when data arrived out of order. Each such segment gets an ACK of its own if the peer detects losses by
   * duplicate ACKs; with SACK one ACK reports them all.
   */
  onOutOfOrder(sack: boolean): void {
    this.#isReportDue = true;
    if (sack) this.require();
    else this.#count = Math.min(this.#count + 1, MAX_DUPLICATE_ACKS);
  }

  /** Requires an ACK with the next `transmit`, with data or alone. */
  require(): void {
    if (this.#count === 0) this.#count = 1;
  }

  onTimeout(now: number): void {
    if (this.#deadlines.take('acknowledgment', now)) this.require();
  }

  /** Called when a segment was sent with all current SACK blocks. */
  onReported(): void {
    this.#isReportDue = false;
  }

  /** Called when a segment was sent with SEG.ACK = RCV.NXT. */
  onSent(): void {
    this.#bytes = 0;
    if (this.#count > 0) this.#count--;
    this.#deadlines.clear('acknowledgment');
  }
}
