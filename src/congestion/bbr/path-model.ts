import { initialWindow } from '../controller.ts';
import { RoundCounter } from '../rounds.ts';
import { TwoPeriodMaximum, WindowedMaximum } from './windowed-filter.ts';

export type BbrState =
  | 'startup'
  | 'drain'
  | 'probe-down'
  | 'probe-cruise'
  | 'probe-refill'
  | 'probe-up'
  | 'probe-rtt';

/** What each state does (draft, "Summary of Control Behavior in the State Machine"). */
export const GAINS: Readonly<
  Record<BbrState, { readonly pacing: number; readonly window: number }>
> = {
  // 4 ln 2: the least that doubles the rate in each round.
  startup: { pacing: 2.77, window: 2 },
  drain: { pacing: 0.5, window: 2 },
  'probe-down': { pacing: 0.9, window: 2 },
  'probe-cruise': { pacing: 1, window: 2 },
  'probe-refill': { pacing: 1, window: 2 },
  'probe-up': { pacing: 1.25, window: 2.25 },
  'probe-rtt': { pacing: 1, window: 0.5 },
};

/** MinPipeCwnd: with fewer packets in flight a receiver that acknowledges every second one stalls it. */
const MINIMUM_PACKETS = 4;
/** Rounds over which aggregation is remembered, and in Startup. */
const AGGREGATION_ROUNDS = 10;
const STARTUP_AGGREGATION_ROUNDS = 1;
/** Headroom: the part of the long-term bound that is left to others. */
const HEADROOM = 0.15;
/** A round trip that exceeds the least one by this factor shows a queue. */
const QUEUE_RTT = 1.25;
/** But by no less than this, in ms: timers and schedulers are no queue. */
const QUEUE_TIME = 2;
/** What a pacer sends at once: a millisecond of the rate, within these bounds. */
const QUANTUM_TIME = 1;
const MOST_QUANTUM = 65_536;
const LEAST_QUANTUM_PACKETS = 2;

/**
 * What BBR believes of the path, and the bounds that follow from it. The parts of the algorithm share
 * it; each says which of its fields it writes.
 */
export class PathModel {
  readonly rounds = new RoundCounter();
  readonly #bandwidths = new TwoPeriodMaximum();
  readonly #aggregation = new WindowedMaximum();
  mtu: number;
  state: BbrState = 'startup';
  /** Of the connection: the window in force, bytes in flight, everything delivered. */
  window: number;
  inFlight = 0;
  delivered = 0;
  pacingRate = 0;
  /** Whether the window was full at some point of the last round. */
  windowLimited = false;
  /** Whether the bandwidth has ever been found to be reached. Written by `FullPipe`. */
  pipeFilled = false;
  /** The least round trip of ten seconds. Written by `RoundTripProbe`. */
  minRtt = Infinity;
  /** Bounds that losses have set until the next probe. Written by `LossResponse`. */
  shortTermBandwidth = Infinity;
  shortTermInflight = Infinity;
  /** The most in flight that did not lose too much. Written by `BandwidthProbe`. */
  longTermInflight = Infinity;
  #extraStart = 0;
  #extraDelivered = 0;

  constructor(mtu: number) {
    this.mtu = mtu;
    this.window = initialWindow(mtu);
  }

  /** The maximum of the delivery rates of two probe cycles, in bytes per millisecond. */
  get maxBandwidth(): number {
    return this.#bandwidths.value;
  }

  /** The bandwidth to be used at present. */
  get bandwidth(): number {
    return Math.min(this.#bandwidths.value, this.shortTermBandwidth);
  }

  get minimumWindow(): number {
    return MINIMUM_PACKETS * this.mtu;
  }

  get isProbingBandwidthState(): boolean {
    return (
      this.state === 'probe-down' ||
      this.state === 'probe-cruise' ||
      this.state === 'probe-refill' ||
      this.state === 'probe-up'
    );
  }

  /** Whether more than the estimated bandwidth is tried, so that losses are expected. */
  get isAccelerating(): boolean {
    return this.state === 'startup' || this.state === 'probe-refill' || this.state === 'probe-up';
  }

  /** Whether this round trip shows a queue. */
  showsQueue(rtt: number): boolean {
    return rtt > Math.max(QUEUE_RTT * this.minRtt, this.minRtt + QUEUE_TIME);
  }

  /** So many bandwidth-delay products, in bytes. */
  product(gain: number, bandwidth: number = this.bandwidth): number {
    if (this.minRtt === Infinity) return initialWindow(this.mtu);
    return gain * bandwidth * this.minRtt;
  }

  /** Bytes in flight that make up so many bandwidth-delay products in whole bursts. */
  inflight(gain: number, bandwidth: number = this.bandwidth): number {
    return this.#inBursts(this.product(gain, bandwidth));
  }

  /** The most in flight that the present state wants. */
  get maxInflight(): number {
    return this.#inBursts(this.product(GAINS[this.state].window) + this.#aggregation.value);
  }

  /** The long-term bound without the part that is left to others. */
  get inflightWithHeadroom(): number {
    if (this.longTermInflight === Infinity) return Infinity;
    const headroom = Math.max(this.mtu, HEADROOM * this.longTermInflight);
    return Math.max(this.longTermInflight - headroom, this.minimumWindow);
  }

  /** The product, unless congestion has made the window smaller. */
  get targetInflight(): number {
    return Math.min(this.product(1), this.window);
  }

  updateBandwidth(rate: number, appLimited: boolean): void {
    // A sample that the application limited counts when it shows more than is known.
    if (rate > 0 && (rate >= this.maxBandwidth || !appLimited)) this.#bandwidths.update(rate);
  }

  /** A probe cycle has ended. */
  advanceBandwidth(): void {
    this.#bandwidths.advance();
  }

  /** Learns how much more than the bandwidth acknowledges at once (draft, "extra_acked"). */
  updateAggregation(now: number, acked: number): void {
    let expected = this.bandwidth * (now - this.#extraStart);
    if (this.#extraDelivered <= expected) {
      this.restartAggregation(now);
      expected = 0;
    }
    this.#extraDelivered += acked;
    const extra = Math.min(this.#extraDelivered - expected, this.window);
    const length = this.pipeFilled ? AGGREGATION_ROUNDS : STARTUP_AGGREGATION_ROUNDS;
    this.#aggregation.update(extra, this.rounds.count, length);
  }

  /** After a pause nothing is known of the time before. */
  restartAggregation(now: number): void {
    this.#extraDelivered = 0;
    this.#extraStart = now;
  }

  resetShortTerm(): void {
    this.shortTermBandwidth = Infinity;
    this.shortTermInflight = Infinity;
  }

  #inBursts(bytes: number): number {
    const quantum = Math.max(
      Math.min(this.pacingRate * QUANTUM_TIME, MOST_QUANTUM),
      LEAST_QUANTUM_PACKETS * this.mtu,
    );
    const inflight = Math.max(bytes, quantum, this.minimumWindow);
    return this.state === 'probe-up' ? inflight + 2 * this.mtu : inflight;
  }
}
