import type { AckEvent, CongestionController } from './controller.ts';
import { DeliveryRate, type SentFacts } from './delivery-rate.ts';
import { RttEstimator } from './rtt.ts';

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

/**
 * Determines how much may be sent on one path and when. Combines the congestion controller, rate samples, round-trip
 * estimator, pacer and count of bytes in flight, and passes events to them in the required order. Called by the loss
 * recovery of QUIC and TCP.
 *
 * For an acknowledgement call `beginAck`, `onAcked` for each packet, `onRtt` if it measures a round trip, `onLost` for
 * each packet that it reveals as lost, `finishAck`. For a loss detected by a timer call only `onLost`. The caller
 * chooses the slots (see `SentFacts`).
 */
export class SendControl {
  readonly rtt = new RttEstimator();
  readonly #rates = new DeliveryRate();
  readonly #pacer: Pacer;
  #controller: CongestionController;
  #mtu: number;
  #inFlight = 0;
  readonly #event: AckEvent = {
    now: 0,
    acked: 0,
    lost: 0,
    inFlight: 0,
    priorInFlight: 0,
    newestSentAt: 0,
    latestRtt: 0,
    smoothedRtt: 0,
    minRtt: 0,
    rate: this.#rates.sample,
  };

  /** @param mtu the maximum packet size in bytes. */
  constructor(controller: CongestionController, mtu: number) {
    this.#controller = controller;
    this.#mtu = mtu;
    this.#pacer = new Pacer(mtu);
  }

  get controller(): CongestionController {
    return this.#controller;
  }

  /** Number of bytes in flight. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Whether packets sent at present count as limited by the application. */
  get appLimited(): boolean {
    return this.#rates.appLimited;
  }

  /** Replaces the controller; the count of bytes in flight is kept. */
  use(controller: CongestionController): void {
    this.#controller = controller;
  }

  /** Whether the window has room for one more packet (RFC 9002 §7: it is never exceeded). */
  get hasRoom(): boolean {
    return this.#inFlight + this.#mtu <= this.#controller.window;
  }

  /**
   * Returns the number of bytes that may be sent now: at least one packet, or 0 if the window is full or the pacer
   * requires a delay. Does not apply to probes (RFC 9002 §6.2.4), packets with acknowledgements only, and
   * CONNECTION_CLOSE.
   */
  allowance(now: number): number {
    if (!this.hasRoom) return 0;
    this.#pacer.setRate(this.#controller.pacingRate, now);
    const budget = this.#pacer.budget(now);
    if (budget <= 0) return 0;
    // The last packet of a burst may overdraw the pacer, which delays the next burst.
    return Math.min(this.#controller.window - this.#inFlight, Math.max(budget, this.#mtu));
  }

  /**
   * Returns the time at which `allowance` becomes positive: `now` if it is already, `Infinity` if an acknowledgement
   * must arrive first.
   */
  nextSendTime(now: number): number {
    if (!this.hasRoom) return Infinity;
    this.#pacer.setRate(this.#controller.pacingRate, now);
    return this.#pacer.nextTime(now);
  }

  /** Called when a packet that counts as in flight was sent; records its state in this slot. */
  onSent(facts: SentFacts, slot: number, bytes: number, now: number): void {
    this.#inFlight += bytes;
    this.#pacer.setRate(this.#controller.pacingRate, now);
    this.#pacer.onSent(bytes, now);
    // The process, and not the path, has limited the rate.
    if (this.#pacer.takeBehind()) this.#rates.onAppLimited(this.#inFlight, false);
    this.#rates.onSent(facts, slot, bytes, this.#inFlight, now);
    this.#controller.onSent(now, bytes, this.#inFlight, this.#rates.appLimited);
  }

  /**
   * Called when there is no data to send, or flow control allows none, while `allowance` is above 0; required whenever
   * sending stops for that reason.
   * @param byFlowControl whether the peer's flow control blocks data that could be sent.
   */
  onAppLimited(byFlowControl = false): void {
    this.#pacer.onNothingToSend();
    if (this.hasRoom) this.#rates.onAppLimited(this.#inFlight, byFlowControl);
  }

  /** Begins an acknowledgement. */
  beginAck(now: number): void {
    const event = this.#event;
    event.now = now;
    event.acked = 0;
    event.lost = 0;
    event.latestRtt = 0;
    event.priorInFlight = this.#inFlight;
    this.#rates.beginAck();
  }

  /** Called when the packet in this slot is newly acknowledged. */
  onAcked(facts: SentFacts, slot: number): void {
    const bytes = facts.bytes(slot);
    this.#inFlight -= bytes;
    this.#event.acked += bytes;
    this.#rates.onAcked(facts, slot, this.#event.now);
  }

  /** Called when the acknowledgement measured the round-trip time (RFC 9002 §5.1; see `RttEstimator.update`). */
  onRtt(sample: number, ackDelay: number): void {
    this.rtt.update(sample, ackDelay, this.#event.now);
    this.#event.latestRtt = this.rtt.latest;
  }

  /** Called when the packet in this slot is lost. */
  onLost(facts: SentFacts, slot: number, now: number): void {
    const bytes = facts.bytes(slot);
    this.#inFlight -= bytes;
    this.#event.lost += bytes;
    this.#controller.onLoss(this.#rates.onLost(facts, slot, now));
  }

  /** Ends an acknowledgement. The controller is called if any packet was newly acknowledged. */
  finishAck(): void {
    const event = this.#event;
    this.#rates.finishAck(this.rtt.minimum);
    if (event.acked === 0) return;
    event.inFlight = this.#inFlight;
    event.newestSentAt = this.#rates.newestSentAt;
    event.smoothedRtt = this.rtt.smoothed;
    event.minRtt = this.rtt.minimum;
    this.#controller.onAck(event);
  }

  /**
   * Called when the keys of the packet in this slot are discarded: the packet counts neither as delivered nor as lost.
   */
  onDiscarded(facts: SentFacts, slot: number): void {
    this.#inFlight -= facts.bytes(slot);
  }

  /** Called when a packet that was reported lost, sent at `sentAt`, has been acknowledged after all. */
  onSpuriousLoss(now: number, sentAt: number): void {
    this.#controller.onSpuriousLoss(now, sentAt);
  }

  /** Passes an ECN-CE report to the congestion controller; see `CongestionController`. */
  onCongestionExperienced(now: number, sentAt: number): void {
    this.#controller.onCongestionExperienced(now, sentAt);
  }

  /** Passes persistent congestion to the congestion controller; see `CongestionController`. */
  onPersistentCongestion(now: number): void {
    this.rtt.restartMinimum();
    this.#controller.onPersistentCongestion(now);
  }

  /** Called when the maximum packet size has changed. */
  onMtu(bytes: number): void {
    if (bytes === this.#mtu) return;
    this.#mtu = bytes;
    this.#pacer.setMtu(bytes);
    this.#controller.onMtu(bytes);
  }
}
