import { initialWindow } from '../controller.ts';
import { RoundCounter } from '../epochs.ts';

/** Tracks the maximum of the current and the previous period. */
export class TwoPeriodMaximum {
  #current = 0;
  #previous = 0;

  get value(): number {
    return Math.max(this.#current, this.#previous);
  }

  update(value: number): void {
    if (value > this.#current) this.#current = value;
  }

  /** Begins a new period. */
  advance(): void {
    this.#previous = this.#current;
    this.#current = 0;
  }
}

/**
 * Tracks the maximum over the last `length` units of a monotonic count, in constant memory: the best value of the
 * window, and the second and third best of later values (Kathleen Nichols' algorithm).
 */
export class WindowedMaximum {
  readonly #values = new Float64Array(3);
  readonly #times = new Float64Array(3);

  get value(): number {
    return this.#values[0] ?? 0;
  }

  update(value: number, time: number, length: number): void {
    // Read one by one: an iterator would be allocated for each acknowledgement.
    const values = this.#values;
    if (value >= (values[0] ?? 0) || time - (this.#times[2] ?? 0) > length) {
      this.#set(0, value, time);
      this.#set(1, value, time);
      this.#set(2, value, time);
      return;
    }
    if (value >= (values[1] ?? 0)) {
      this.#set(1, value, time);
      this.#set(2, value, time);
    } else if (value >= (values[2] ?? 0)) this.#set(2, value, time);
    this.#expire(value, time, length);
  }

  #expire(value: number, time: number, length: number): void {
    const bestAt = this.#times[0] ?? 0;
    const secondAt = this.#times[1] ?? 0;
    const thirdAt = this.#times[2] ?? 0;
    if (time - bestAt > length) {
      this.#shift();
      this.#set(2, value, time);
      if (time - secondAt > length) {
        this.#shift();
        this.#set(2, value, time);
      }
    } else if (secondAt === bestAt && time - bestAt > length / 4) {
      // A quarter of the window has passed without a better value: the second best is taken from later values.
      this.#set(1, value, time);
      this.#set(2, value, time);
    } else if (thirdAt === secondAt && time - bestAt > length / 2) this.#set(2, value, time);
  }

  #shift(): void {
    this.#values.copyWithin(0, 1);
    this.#times.copyWithin(0, 1);
  }

  #set(at: number, value: number, time: number): void {
    this.#values[at] = value;
    this.#times[at] = time;
  }
}

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
/** Rounds over which the maximum of ACK aggregation is kept: in general, and in Startup. */
const AGGREGATION_ROUNDS = 10;
const STARTUP_AGGREGATION_ROUNDS = 1;
/** Headroom: the fraction of the long-term bound that is left to other flows. */
const HEADROOM = 0.15;
/** The factor over the minimum round-trip time from which a round-trip time shows a queue. */
const QUEUE_RTT = 1.25;
/** The minimum excess in milliseconds that shows a queue: delays of timers and schedulers do not. */
const QUEUE_TIME = 2;
/** The send quantum of the pacer: the data of one millisecond at the pacing rate, within these bounds. */
const QUANTUM_TIME = 1;
const MOST_QUANTUM = 65_536;
const LEAST_QUANTUM_PACKETS = 2;

/**
 * The model of the path and the bounds derived from it. All parts of the algorithm share the model; the comment of a
 * field names the part that writes it.
 */
export class PathModel {
  readonly rounds = new RoundCounter();
  readonly #bandwidths = new TwoPeriodMaximum();
  readonly #aggregation = new WindowedMaximum();
  mtu: number;
  state: BbrState = 'startup';
  /** State of the connection in bytes: the current window, bytes in flight, bytes delivered in total. */
  window: number;
  inFlight = 0;
  delivered = 0;
  pacingRate = 0;
  /** Whether the window was full at some time in the last round (is_cwnd_limited). */
  windowLimited = false;
  /** full_bw_reached: whether the flow has ever reached the bandwidth of the path. Written by `FullPipe`. */
  pipeFilled = false;
  /** Minimum round-trip time over ten seconds, in milliseconds. Written by `RoundTripProbe`. */
  minRtt = Infinity;
  /**
   * bw_shortterm and inflight_shortterm: bounds set by losses, valid until the next probe. Written by `LossResponse`.
   */
  shortTermBandwidth = Infinity;
  shortTermInflight = Infinity;
  /** inflight_longterm: the maximum number of bytes in flight without excessive loss. Written by `BandwidthProbe`. */
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

  /** The bandwidth to use at present, in bytes per millisecond. */
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

  /** Whether the current state sends more than the estimated bandwidth, so that losses are expected. */
  get isAccelerating(): boolean {
    return this.state === 'startup' || this.state === 'probe-refill' || this.state === 'probe-up';
  }

  /** Whether a round-trip time in milliseconds shows a queue. */
  showsQueue(rtt: number): boolean {
    return rtt > Math.max(QUEUE_RTT * this.minRtt, this.minRtt + QUEUE_TIME);
  }

  /** Returns `gain` bandwidth-delay products in bytes. */
  product(gain: number, bandwidth: number = this.bandwidth): number {
    if (this.minRtt === Infinity) return initialWindow(this.mtu);
    return gain * bandwidth * this.minRtt;
  }

  /** Returns `gain` bandwidth-delay products with room for a burst, in bytes (BBRInflight). */
  inflight(gain: number, bandwidth: number = this.bandwidth): number {
    return this.#inBursts(this.product(gain, bandwidth));
  }

  /** max_inflight: the maximum number of bytes in flight in the current state. */
  get maxInflight(): number {
    return this.#inBursts(this.product(GAINS[this.state].window) + this.#aggregation.value);
  }

  /** The long-term bound minus the headroom, in bytes. */
  get inflightWithHeadroom(): number {
    if (this.longTermInflight === Infinity) return Infinity;
    const headroom = Math.max(this.mtu, HEADROOM * this.longTermInflight);
    return Math.max(this.longTermInflight - headroom, this.minimumWindow);
  }

  /** The bandwidth-delay product in bytes, or the window if congestion has made it smaller. */
  get targetInflight(): number {
    return Math.min(this.product(1), this.window);
  }

  updateBandwidth(rate: number, appLimited: boolean): void {
    // An application-limited sample counts if it is above the estimate.
    if (rate > 0 && (rate >= this.maxBandwidth || !appLimited)) this.#bandwidths.update(rate);
  }

  /** Called at the end of a probe cycle: starts a new period of the bandwidth maximum. */
  advanceBandwidth(): void {
    this.#bandwidths.advance();
  }

  /** extra_acked: measures the bytes acknowledged in bursts beyond the estimated bandwidth. */
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

  /** Restarts the measurement of ACK aggregation after an idle period. */
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
