import type { EcnCounts } from '../wire/frame-writers.ts';
import type { DeliveryListener, FrameLog } from './delivery.ts';
import { AckRanges } from './ack-ranges.ts';
import { MAX_ACK_DELAY } from '../limits.ts';
import { Space, SPACES } from './space.ts';

/** Ack-eliciting packets after which an ACK is sent at once (RFC 9000 §13.2.2). */
const ELICITING_PACKETS = 2;

/** ECN codepoints of a received datagram (RFC 3168 §5). */
const ECT1 = 1;
const ECT0 = 2;
const CE = 3;

/** Schedules ACK frames for the received packets of one space (RFC 9000 §13.2). */
export class AckSchedule implements DeliveryListener {
  readonly ranges = new AckRanges();
  readonly #isImmediate: boolean;
  readonly #maxAckDelay: number;
  readonly #counts = { ect0: 0, ect1: 0, ce: 0 };
  #hasMarks = false;
  #eliciting = 0;
  #deadline = Infinity;
  #largestAt = 0;

  /** @param maxAckDelay the max_ack_delay that this side announces, in milliseconds. */
  constructor(space: Space, maxAckDelay: number) {
    // Initial and Handshake packets MUST be acknowledged immediately (§13.2.1).
    this.#isImmediate = space !== Space.APPLICATION;
    this.#maxAckDelay = maxAckDelay;
  }

  /** Time at which an ACK frame has to be sent; Infinity for none. */
  get deadline(): number {
    return this.#deadline;
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
    this.#deadline = Math.min(this.#deadline, isUrgent ? now : now + this.#maxAckDelay);
  }

  /** Returns the ACK Delay field: the time since the largest packet was received (§13.2.5, §19.3). */
  delayField(exponent: number, now: number): number {
    return Math.floor((Math.max(0, now - this.#largestAt) * 1000) / 2 ** exponent);
  }

  /** Called when an ACK frame of `ranges` was written into the packet of `log`. */
  onAckSent(log: FrameLog): void {
    this.#eliciting = 0;
    this.#deadline = Infinity;
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

/** The acknowledgement schedules of a connection's packet number spaces, until their keys are discarded. */
export class AckSchedules {
  readonly #schedules: (AckSchedule | undefined)[] = SPACES.map(
    (space) => new AckSchedule(space, MAX_ACK_DELAY),
  );

  /** Returns the schedule of a space; `undefined` once the space was discarded. */
  of(space: Space): AckSchedule | undefined {
    return this.#schedules[space];
  }

  discard(space: Space): void {
    this.#schedules[space] = undefined;
  }
}
