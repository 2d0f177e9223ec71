import {
  type AckEvent,
  type CongestionController,
  initialWindow,
  type LossEvent,
  MINIMUM_WINDOW_PACKETS,
} from './controller.ts';
import { RecoveryEpoch } from './epochs.ts';
import { INITIAL_RTT } from './rtt.ts';

/** Number of packets below the full window at which it still counts as used. */
const SLACK_PACKETS = 3;

/** N of RFC 9002 §7.7: the pacing rate as a multiple of the window per round trip. */
const PACING_GAIN = 1.25;
/** N in slow start, where the window doubles in each round trip. */
const SLOW_START_PACING_GAIN = 2;

/**
 * The common part of CUBIC and NewReno: slow start below a threshold, one reduction of the window per recovery period
 * (RFC 9002 §7.3), which is undone if all losses of the period were spurious, and a window that is paced over the
 * round-trip time.
 */
export abstract class ClassicWindow implements CongestionController {
  abstract readonly name: string;
  protected mtu: number;
  /** The congestion window in bytes, published as `window`. */
  protected size: number;
  /** `size` before the last reduction: cwnd_prior of RFC 9438. */
  protected priorWindow = 0;
  /** The slow start threshold, ssthresh, and its value before the last reduction. */
  #threshold = Infinity;
  #priorThreshold = Infinity;
  readonly #epoch = new RecoveryEpoch();
  #smoothedRtt = 0;
  #lastAckAt = 0;
  #hasSent = false;

  /** @param mtu the maximum packet size in bytes. */
  constructor(mtu: number) {
    this.mtu = mtu;
    this.size = initialWindow(mtu);
  }

  get window(): number {
    return this.size;
  }

  get pacingRate(): number {
    return windowPacingRate(this.size, this.#smoothedRtt, this.#inSlowStart());
  }

  onSent(): void {
    this.#hasSent = true;
  }

  onAck(event: AckEvent): void {
    const sinceLastAck = event.now - this.#lastAckAt;
    this.#lastAckAt = event.now;
    this.#smoothedRtt = event.smoothedRtt;
    if (this.#epoch.covers(event.newestSentAt)) return;
    if (!windowWasUsed(event, this.size, this.#inSlowStart(), this.mtu)) {
      this.onUnused(sinceLastAck);
    } else if (this.#inSlowStart()) {
      if (this.growInSlowStart(event)) this.#threshold = this.size;
    } else this.avoidCongestion(event);
  }

  onLoss({ now, sentAt }: LossEvent): void {
    if (this.#epoch.onLoss(now, sentAt)) this.#reduce();
  }

  onCongestionExperienced(now: number, sentAt: number): void {
    if (this.#epoch.onCongestionExperienced(now, sentAt)) this.#reduce();
  }

  onPersistentCongestion(): void {
    this.size = this.#minimum();
    this.#epoch.end();
    this.restart();
  }

  onSpuriousLoss(_now: number, sentAt: number): void {
    if (!this.#epoch.onSpuriousLoss(sentAt)) return;
    this.size = Math.max(this.size, this.priorWindow);
    this.#threshold = this.#priorThreshold;
    this.onUndone();
  }

  onMtu(bytes: number): void {
    this.mtu = bytes;
    // Before the first packet a new MTU changes the initial window (RFC 9002 §7.2, RFC 6928 §2).
    if (!this.#hasSent) this.size = initialWindow(bytes);
    this.size = Math.max(this.size, this.#minimum());
  }

  /**
   * Grows `size` in slow start.
   * @returns whether slow start ends without a loss.
   */
  protected abstract growInSlowStart(event: AckEvent): boolean;
  /** Grows `size` in congestion avoidance. */
  protected abstract avoidCongestion(event: AckEvent): void;
  /** Called when the window, which therefore does not grow, was not used for `elapsed` milliseconds. */
  protected abstract onUnused(elapsed: number): void;
  /** Called at the start of a recovery period. @returns the reduced window in bytes; `size` is the current one. */
  protected abstract reducedWindow(): number;
  /** Called when the last reduction was undone. */
  protected abstract onUndone(): void;
  /** Called on persistent congestion: growth restarts from the minimum window. */
  protected abstract restart(): void;

  #reduce(): void {
    this.priorWindow = this.size;
    this.#priorThreshold = this.#threshold;
    this.size = Math.max(this.reducedWindow(), this.#minimum());
    this.#threshold = this.size;
  }

  #inSlowStart(): boolean {
    return this.size < this.#threshold;
  }

  #minimum(): number {
    return MINIMUM_WINDOW_PACKETS * this.mtu;
  }
}

/**
 * Whether the window was the limit when the acknowledged packets were sent, so that it may grow (RFC 9002 §7.8).
 * Data that waits for the pacer counts as limited by the window. In slow start half a window suffices, since the window
 * doubles in the next round trip.
 */
function windowWasUsed(event: AckEvent, window: number, slowStart: boolean, mtu: number): boolean {
  const { appLimited, inFlightAtSend } = event.rate;
  if (!appLimited) return true;
  return slowStart ? inFlightAtSend * 2 >= window : inFlightAtSend + SLACK_PACKETS * mtu >= window;
}

/** Returns the rate that spreads a window over a round-trip time, in bytes per millisecond. */
function windowPacingRate(window: number, smoothedRtt: number, slowStart: boolean): number {
  const gain = slowStart ? SLOW_START_PACING_GAIN : PACING_GAIN;
  return (gain * window) / (smoothedRtt > 0 ? smoothedRtt : INITIAL_RTT);
}

/** kLossReductionFactor (RFC 9002 §7.3.2). */
const LOSS_REDUCTION = 0.5;

/** NewReno (RFC 9002 §7 and appendix B): the baseline for comparisons with other controllers. */
export class NewReno extends ClassicWindow {
  readonly name = 'newreno';
  /** Number of bytes acknowledged in congestion avoidance since the window last grew. */
  #acked = 0;

  protected growInSlowStart(event: AckEvent): boolean {
    this.size += event.acked;
    return false;
  }

  protected avoidCongestion(event: AckEvent): void {
    this.#acked += event.acked;
    while (this.#acked >= this.size) {
      this.#acked -= this.size;
      this.size += this.mtu;
    }
  }

  protected reducedWindow(): number {
    this.#acked = 0;
    return this.size * LOSS_REDUCTION;
  }

  protected restart(): void {
    this.#acked = 0;
  }

  protected onUnused(): void {
    // Growth counts bytes, not time.
  }

  protected onUndone(): void {
    // There is no state besides the window and its threshold.
  }
}
