import { ReplayWindow } from '@weir/crypto/replay';
import type { AckRangeSource, EcnCounts } from '../wire/frame-writers.ts';
import { DUPLICATE_WINDOW, FIRST_ACK_RANGES, MAX_ACK_RANGES, MAX_ACK_DELAY } from '../limits.ts';
import type { DeliveryListener, FrameLog } from './delivery.ts';
import { Space, SPACES } from '../wire/packet-header.ts';

/**
 * The numbers of received packets of one space: the ranges for ACK frames, bounded in number and forgotten
 * once the peer has acknowledged them (RFC 9000 §13.2.3, §13.2.4), and, apart from them, a window in which
 * duplicates are detected (§12.3).
 */
class AckRanges implements AckRangeSource {
  /** Smallest number of each range, the oldest range first: most packets extend the last one. */
  #smallest = new Float64Array(FIRST_ACK_RANGES);
  #largest = new Float64Array(FIRST_ACK_RANGES);
  readonly #seen = new ReplayWindow(DUPLICATE_WINDOW);
  #length = 0;
  /** The largest number ever received, for the decoding of packet numbers; -1 before the first. */
  largestReceived = -1;

  /** The number of ranges. */
  get length(): number {
    return this.#length;
  }

  /** Returns the smallest number of a range. Index 0 is the newest range. */
  smallest(index: number): number {
    return this.#smallest[this.#length - 1 - index] as number; // below `length`
  }

  /** Returns the largest number of a range. Index 0 is the newest range. */
  largest(index: number): number {
    return this.#largest[this.#length - 1 - index] as number; // below `length`
  }

  /** Whether a packet was received before, or is too old to decide: it MUST be discarded (§12.3). */
  has(number: number): boolean {
    return !this.#seen.isNew(number);
  }

  /** Adds a packet that was processed, for which `has` was false. */
  add(number: number): void {
    this.#seen.mark(number);
    this.largestReceived = Math.max(this.largestReceived, number);
    let at = this.#length - 1;
    while (at >= 0 && (this.#smallest[at] as number) > number) at--; // within the ranges, here and below
    // The range at `at`, if there is one, starts at or before the number, and the next one after it.
    const touchesOlder = at >= 0 && (this.#largest[at] as number) >= number - 1;
    const touchesNewer = at + 1 < this.#length && (this.#smallest[at + 1] as number) === number + 1;
    if (touchesOlder && touchesNewer) {
      this.#largest[at] = this.#largest[at + 1] as number;
      this.#remove(at + 1);
    } else if (touchesOlder) {
      this.#largest[at] = Math.max(this.#largest[at] as number, number);
    } else if (touchesNewer) {
      this.#smallest[at + 1] = number;
    } else {
      this.#insert(at + 1, number);
    }
  }

  /** Called when the peer has acknowledged an ACK frame that reported packets up to `largest` (§13.2.4). */
  forget(largest: number): void {
    let known = 0;
    while (known < this.#length && (this.#largest[known] as number) <= largest) known++;
    // An ACK frame needs at least one range: the newest stays until there is a newer one.
    known = Math.min(known, this.#length - 1);
    if (known > 0) {
      this.#smallest.copyWithin(0, known, this.#length);
      this.#largest.copyWithin(0, known, this.#length);
      this.#length -= known;
    }
    if (this.#length === 0 || (this.#smallest[0] as number) > largest) return;
    this.#smallest[0] = Math.min(largest + 1, this.#largest[0] as number);
  }

  #insert(index: number, number: number): void {
    let at = index;
    if (this.#length === MAX_ACK_RANGES) {
      if (at === 0) return;
      this.#remove(0);
      at--;
    } else if (this.#length === this.#smallest.length) {
      this.#smallest = grown(this.#smallest);
      this.#largest = grown(this.#largest);
    }
    this.#smallest.copyWithin(at + 1, at, this.#length);
    this.#largest.copyWithin(at + 1, at, this.#length);
    this.#smallest[at] = number;
    this.#largest[at] = number;
    this.#length++;
  }

  #remove(index: number): void {
    this.#smallest.copyWithin(index, index + 1, this.#length);
    this.#largest.copyWithin(index, index + 1, this.#length);
    this.#length--;
  }
}

function grown(bounds: Float64Array): Float64Array<ArrayBuffer> {
  const twice = new Float64Array(bounds.length * 2);
  twice.set(bounds);
  return twice;
}

/** Ack-eliciting packets after which an ACK is sent at once (RFC 9000 §13.2.2). */
const ELICITING_PACKETS = 2;

/** ECN codepoints of a received datagram (RFC 3168 §5). */
const ECT1 = 1;
const ECT0 = 2;
const CE = 3;

/** Schedules ACK frames for the received packets of one space (RFC 9000 §13.2). */
class AckSchedule implements DeliveryListener {
  readonly ranges = new AckRanges();
  readonly #isImmediate: boolean;
  readonly #counts = { ect0: 0, ect1: 0, ce: 0 };
  #hasMarks = false;
  #eliciting = 0;
  /** Time at which an ACK frame has to be sent; Infinity for none. */
  deadline = Infinity;
  #largestAt = 0;

  constructor(space: Space) {
    // Initial and Handshake packets MUST be acknowledged immediately (§13.2.1).
    this.#isImmediate = space !== Space.APPLICATION;
  }

  /** Whether a packet that is sent for other frames should carry an ACK frame as well. */
  get isPending(): boolean {
    return this.#eliciting > 0;
  }

  /** The ECN counts (§19.3.2); `undefined` while no mark was received. */
  get ecn(): EcnCounts | undefined {
    return this.#hasMarks ? this.#counts : undefined;
  }

  /**
   * Adds a packet that was processed and is not in `ranges`.
   * @param ecn the two ECN bits of its datagram.
   */
  onReceived(number: number, ackEliciting: boolean, ecn: number, now: number): void {
    const previous = this.ranges.largestReceived;
    this.ranges.add(number);
    if (number > previous) this.#largestAt = now;
    this.#count(ecn);
    if (!ackEliciting) return;
    this.#eliciting++;
    // Out-of-order packets and CE marks SHOULD be acknowledged at once (§13.2.1).
    const isUrgent =
      this.#isImmediate ||
      this.#eliciting >= ELICITING_PACKETS ||
      number !== previous + 1 ||
      ecn === CE;
    this.deadline = Math.min(this.deadline, isUrgent ? now : now + MAX_ACK_DELAY);
  }

  /** Returns the ACK Delay field: the time since the largest packet was received (§13.2.5, §19.3). */
  delayField(exponent: number, now: number): number {
    return Math.floor((Math.max(0, now - this.#largestAt) * 1000) / 2 ** exponent);
  }

  /** Called when an ACK frame of `ranges` was written into the packet of `log`. */
  onAckSent(log: FrameLog): void {
    this.#eliciting = 0;
    this.deadline = Infinity;
    log.add(this, this.ranges.largest(0));
  }

  /**
   * Called when an ACK frame up to `largest` was acknowledged: its ranges need not be reported again (RFC 9000
   * §13.2.4).
   */
  onAcknowledged(largest: number): void {
    this.ranges.forget(largest);
  }

  onLost(): void {
    // The next ACK frame reports the same ranges.
  }

  #count(ecn: number): void {
    if (ecn === 0) return;
    this.#hasMarks = true;
    if (ecn === ECT0) this.#counts.ect0++;
    else if (ecn === ECT1) this.#counts.ect1++;
    else this.#counts.ce++;
  }
}

/** The schedules of a connection's packet number spaces; `undefined` once the keys of a space were discarded. */
export type AckSchedules = (AckSchedule | undefined)[];

export const ackSchedules = (): AckSchedules => SPACES.map((space) => new AckSchedule(space));
