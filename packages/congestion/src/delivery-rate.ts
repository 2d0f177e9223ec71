import type { LossEvent, RateSample } from './controller.ts';
import { LEAST_TIME } from './rtt.ts';

/** Columns of a row: the state when the packet of the slot was sent. */
const SENT_AT = 0;
const BYTES = 1;
const DELIVERED = 2;
const DELIVERED_AT = 3;
const FIRST_SENT_AT = 4;
const LOST = 5;
const IN_FLIGHT = 6;
const LIMITED_BY = 7;
const FIELDS = 8;

/** Values of `LIMITED_BY`. */
const BY_NOTHING = 0;
const BY_APPLICATION = 1;
const BY_FLOW_CONTROL = 2;

/**
 * The state of the delivery rate when each packet in flight was sent, in slots that the caller chooses: QUIC has one
 * table for the ring of each packet number space, TCP one for its queue. `DeliveryRate.onSent` fills a slot, which is
 * free again once its packet is acknowledged or lost.
 */
export class SentFacts {
  /** The table's rows, for `DeliveryRate` only. */
  readonly rows: Float64Array;

  readonly capacity: number;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.rows = new Float64Array(capacity * FIELDS);
  }

  /** Returns the time at which the packet in this slot was sent. */
  sentAt(slot: number): number {
    return this.rows[slot * FIELDS + SENT_AT] as number; // a slot is within the capacity
  }

  /** Returns the number of bytes that the packet in this slot counts as in flight. */
  bytes(slot: number): number {
    return this.rows[slot * FIELDS + BYTES] as number; // a slot is within the capacity
  }

  /**
   * Splits the packet in this slot, if only a part of it was acknowledged (TCP): `bytes` of it stay, the rest moves to
   * another slot. Both keep the state of the time when the packet was sent.
   */
  divide(slot: number, rest: number, bytes: number): void {
    const total = this.bytes(slot);
    this.copy(this, slot, rest);
    this.rows[slot * FIELDS + BYTES] = bytes;
    this.rows[rest * FIELDS + BYTES] = total - bytes;
  }

  /** Copies a slot of another table, when a ring grows. */
  copy(from: SentFacts, fromSlot: number, slot: number): void {
    const start = fromSlot * FIELDS;
    this.rows.set(from.rows.subarray(start, start + FIELDS), slot * FIELDS);
  }
}

/**
 * Measures the delivery rate: the bytes acknowledged between the sending of a packet and its acknowledgement, over the
 * longer of the send interval and the acknowledgement interval, so that neither bursts nor ACK compression lead to an
 * overestimate.
 */
export class DeliveryRate {
  /** The sample that `finishAck` returns; reused. */
  readonly sample: RateSample = {
    rate: 0,
    appLimited: false,
    flowLimited: false,
    delivered: 0,
    interval: 0,
    lost: 0,
    inFlightAtSend: 0,
    priorDelivered: 0,
    totalDelivered: 0,
    totalLost: 0,
  };
  /** The event that `onLost` returns; reused. */
  readonly loss: LossEvent = {
    now: 0,
    bytes: 0,
    sentAt: 0,
    inFlightAtSend: 0,
    lostSinceSend: 0,
    deliveredSinceSend: 0,
    deliveredAtSend: 0,
    appLimited: false,
  };

  #delivered = 0;
  #deliveredAt = 0;
  #firstSentAt = 0;
  #lost = 0;
  /** C.app_limited: total of delivered bytes up to which packets count as application-limited; 0 if they do not. */
  #appLimitedUntil = 0;
  #limitedBy = BY_NOTHING;

  /** Columns of P, the most recently sent packet of the current acknowledgement. */
  #hasNewest = false;
  /** Time at which the most recently sent packet of the current acknowledgement was sent. */
  newestSentAt = 0;
  #newestDelivered = 0;
  #newestDeliveredAt = 0;
  #newestFirstSentAt = 0;
  #newestLost = 0;
  #newestInFlight = 0;
  #newestLimitedBy = BY_NOTHING;

  /** Whether packets sent at present count as limited by the application. */
  get appLimited(): boolean {
    return this.#appLimitedUntil > 0;
  }

  /**
   * Records the state when a packet is sent.
   *
   * @param inFlight bytes in flight, including this packet.
   */
  onSent(facts: SentFacts, slot: number, bytes: number, inFlight: number, now: number): void {
    // After an idle period both intervals start here, so that the idle period is not part of the measurement.
    if (inFlight <= bytes) {
      this.#firstSentAt = now;
      this.#deliveredAt = now;
    }
    const { rows } = facts;
    const at = slot * FIELDS;
    rows[at + SENT_AT] = now;
    rows[at + BYTES] = bytes;
    rows[at + DELIVERED] = this.#delivered;
    rows[at + DELIVERED_AT] = this.#deliveredAt;
    rows[at + FIRST_SENT_AT] = this.#firstSentAt;
    rows[at + LOST] = this.#lost;
    rows[at + IN_FLIGHT] = inFlight;
    rows[at + LIMITED_BY] = this.#appLimitedUntil > 0 ? this.#limitedBy : BY_NOTHING;
  }

  /**
   * Called when there is no data to send although the window has room: samples from now on do not measure the path.
   * @param byFlowControl whether the peer's flow control blocks data that could be sent.
   */
  onAppLimited(inFlight: number, byFlowControl: boolean): void {
    this.#limitedBy = byFlowControl ? BY_FLOW_CONTROL : BY_APPLICATION;
    this.#appLimitedUntil = Math.max(1, this.#delivered + inFlight);
  }

  /** Begins an acknowledgement. Its packets follow in any order. */
  beginAck(): void {
    this.#hasNewest = false;
    this.newestSentAt = 0;
  }

  /** Called when the packet in this slot is newly acknowledged. */
  onAcked(facts: SentFacts, slot: number, now: number): void {
    const { rows } = facts;
    const at = slot * FIELDS;
    this.#delivered += rows[at + BYTES] as number; // within the capacity, here and below
    this.#deliveredAt = now;
    const sentAt = rows[at + SENT_AT] as number;
    const delivered = rows[at + DELIVERED] as number;
    // P is the most recently sent packet; of several packets sent at the same time, the last one.
    if (
      this.#hasNewest &&
      (sentAt < this.newestSentAt ||
        (sentAt === this.newestSentAt && delivered < this.#newestDelivered))
    ) {
      return;
    }
    this.#hasNewest = true;
    this.newestSentAt = sentAt;
    this.#newestDelivered = delivered;
    this.#newestDeliveredAt = rows[at + DELIVERED_AT] as number;
    this.#newestFirstSentAt = rows[at + FIRST_SENT_AT] as number;
    this.#newestLost = rows[at + LOST] as number;
    this.#newestInFlight = rows[at + IN_FLIGHT] as number;
    this.#newestLimitedBy = rows[at + LIMITED_BY] as number;
  }

  /** Called when the packet in this slot is lost. Returns the event for the controller, valid until the next call. */
  onLost(facts: SentFacts, slot: number, now: number): LossEvent {
    const { rows } = facts;
    const at = slot * FIELDS;
    const { loss } = this;
    loss.now = now;
    loss.bytes = rows[at + BYTES] as number; // within the capacity, here and below
    this.#lost += loss.bytes;
    loss.sentAt = rows[at + SENT_AT] as number;
    loss.inFlightAtSend = rows[at + IN_FLIGHT] as number;
    loss.lostSinceSend = this.#lost - (rows[at + LOST] as number);
    loss.deliveredAtSend = rows[at + DELIVERED] as number;
    loss.deliveredSinceSend = this.#delivered - loss.deliveredAtSend;
    loss.appLimited = rows[at + LIMITED_BY] !== BY_NOTHING;
    return loss;
  }

  /**
   * Ends an acknowledgement, after its losses were reported.
   * @param minRtt minimum round-trip time in milliseconds; 0 before the first sample.
   */
  finishAck(minRtt: number): RateSample {
    const { sample } = this;
    if (this.#appLimitedUntil > 0 && this.#delivered > this.#appLimitedUntil) {
      this.#appLimitedUntil = 0;
    }
    sample.totalDelivered = this.#delivered;
    sample.totalLost = this.#lost;
    sample.rate = 0;
    sample.delivered = 0;
    sample.interval = 0;
    if (!this.#hasNewest) return sample;
    sample.appLimited = this.#newestLimitedBy !== BY_NOTHING;
    sample.flowLimited = this.#newestLimitedBy === BY_FLOW_CONTROL;
    sample.priorDelivered = this.#newestDelivered;
    sample.inFlightAtSend = this.#newestInFlight;
    sample.delivered = this.#delivered - this.#newestDelivered;
    sample.lost = this.#lost - this.#newestLost;
    const sendElapsed = this.newestSentAt - this.#newestFirstSentAt;
    const ackElapsed = this.#deliveredAt - this.#newestDeliveredAt;
    // The next send interval starts with P.
    this.#firstSentAt = this.newestSentAt;
    sample.interval = Math.max(sendElapsed, ackElapsed);
    // An interval below the minimum round-trip time is invalid: P was probably retransmitted.
    if (sample.interval >= Math.max(minRtt, LEAST_TIME)) {
      sample.rate = sample.delivered / sample.interval;
    }
    return sample;
  }
}
