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

/** The gains of each state (draft, "Summary of Control Behavior in the State Machine"). */
export const GAINS: Readonly<
  Record<BbrState, { readonly pacing: number; readonly window: number }>
> = {
  // 4 ln 2: the smallest gain that doubles the rate in each round.
  startup: { pacing: 2.77, window: 2 },
  drain: { pacing: 0.5, window: 2 },
  'probe-down': { pacing: 0.9, window: 2 },
  'probe-cruise': { pacing: 1, window: 2 },
  'probe-refill': { pacing: 1, window: 2 },
  'probe-up': { pacing: 1.25, window: 2.25 },
  'probe-rtt': { pacing: 1, window: 0.5 },
};

/** MinPipeCwnd: with fewer packets, a receiver that acknowledges every second one would stall the flow. */
const MINIMUM_PACKETS = 4;
/** Rounds over which the maximum of aggregation is kept: in general, and in Startup. */
const AGGREGATION_ROUNDS = 10;
const STARTUP_AGGREGATION_ROUNDS = 1;
/** Headroom: the share of the long-term bound that is left to other flows. */
const HEADROOM = 0.15;
/** A round trip that exceeds the minimum by this factor shows a queue. */
const QUEUE_RTT = 1.25;
/** But by at least this many milliseconds: delays of timers and schedulers are not a queue. */
const QUEUE_TIME = 2;
/** The send quantum of the pacer: a millisecond of the rate, within these bounds. */
const QUANTUM_TIME = 1;
const MOST_QUANTUM = 65_536;
const LEAST_QUANTUM_PACKETS = 2;

/**
 * The model of the path, and the bounds derived from it. Shared by the parts of the algorithm; the comment of a
 * field names the part that writes it.
 */
export class PathModel {
  readonly rounds = new RoundCounter();
  readonly #bandwidths = new TwoPeriodMaximum();
  readonly #aggregation = new WindowedMaximum();
  mtu: number;
  state: BbrState = 'startup';
  /** State of the connection: the current window, bytes in flight, bytes delivered in total. */
  window: number;
  inFlight = 0;
  delivered = 0;
  pacingRate = 0;
  /** Whether the window was full at some time in the last round (is_cwnd_limited). */
  windowLimited = false;
  /** full_bw_reached: whether the bandwidth was ever reached. Written by `FullPipe`. */
  pipeFilled = false;
  /** The minimum round trip over ten seconds. Written by `RoundTripProbe`. */
  minRtt = Infinity;
  /** bw_shortterm and inflight_shortterm: bounds set by losses until the next probe. Written by `LossResponse`. */
  shortTermBandwidth = Infinity;
  shortTermInflight = Infinity;
  /** inflight_longterm: the most in flight without too much loss. Written by `BandwidthProbe`. */
  longTermInflight = Infinity;
  #extraStart = 0;
  #extraDelivered = 0;

  constructor(mtu: number) {
    this.mtu = mtu;
    this.window = initialWindow(mtu);
  }

  /** max_bw: the maximum delivery rate over two probe cycles, in bytes per millisecond. */
  get maxBandwidth(): number {
    return this.#bandwidths.value;
  }

  /** The bandwidth to be used now. */
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

  /** Whether this state sends more than the estimated bandwidth, so that losses are expected. */
  get isAccelerating(): boolean {
    return this.state === 'startup' || this.state === 'probe-refill' || this.state === 'probe-up';
  }

  /** Whether this round trip shows a queue. */
  showsQueue(rtt: number): boolean {
    return rtt > Math.max(QUEUE_RTT * this.minRtt, this.minRtt + QUEUE_TIME);
  }

  /** `gain` bandwidth-delay products in bytes. */
  product(gain: number, bandwidth: number = this.bandwidth): number {
    if (this.minRtt === Infinity) return initialWindow(this.mtu);
    return gain * bandwidth * this.minRtt;
  }

  /** `gain` bandwidth-delay products, with room for a burst (BBRInflight). */
  inflight(gain: number, bandwidth: number = this.bandwidth): number {
    return this.#inBursts(this.product(gain, bandwidth));
  }

  /** max_inflight: the most in flight in this state. */
  get maxInflight(): number {
    return this.#inBursts(this.product(GAINS[this.state].window) + this.#aggregation.value);
  }

  /** The long-term bound without the headroom. */
  get inflightWithHeadroom(): number {
    if (this.longTermInflight === Infinity) return Infinity;
    const headroom = Math.max(this.mtu, HEADROOM * this.longTermInflight);
    return Math.max(this.longTermInflight - headroom, this.minimumWindow);
  }

  /** The bandwidth-delay product, or the window if congestion has made it smaller. */
  get targetInflight(): number {
    return Math.min(this.product(1), this.window);
  }

  updateBandwidth(rate: number, appLimited: boolean): void {
    // An application-limited sample counts if it is above the estimate.
    if (rate > 0 && (rate >= this.maxBandwidth || !appLimited)) this.#bandwidths.update(rate);
  }

  /** A probe cycle has ended. */
  advanceBandwidth(): void {
    this.#bandwidths.advance();
  }

  /** extra_acked: measures how far acknowledgements arrive in bursts beyond the bandwidth. */
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

  /** After an idle time the measurement starts again. */
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
