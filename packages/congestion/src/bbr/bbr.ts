import type { RandomSource } from '@weir/base/random';
import {
  type AckEvent,
  type CongestionController,
  initialWindow,
  type LossEvent,
} from '../controller.ts';
import { INITIAL_RTT } from '../rtt.ts';
import { RecoveryEpoch } from '../epochs.ts';
import { LossResponse } from './loss-response.ts';
import { type BbrState, GAINS, PathModel } from './path-model.ts';
import { BandwidthProbe } from './probe-bandwidth.ts';
import { RoundTripProbe, FullPipe, Startup } from './phases.ts';

/** PacingMarginPercent: the factor by which the pacing rate is below the bandwidth, so that the queue does not grow. */
const PACING_MARGIN = 0.99;

/**
 * BBR version 3 (draft-ietf-ccwg-bbr) with different loss thresholds; see `loss-response.ts` for the reasons. It models
 * the path by its bandwidth and minimum round trip and sends what the path can carry, instead of waiting for losses.
 *
 * The steps are in the order of the draft ("Per-ACK Steps"), whose names are in the comments of the parts.
 */
export class Bbr implements CongestionController {
  readonly name = 'bbr';
  readonly #model: PathModel;
  readonly #pipe = new FullPipe();
  readonly #losses = new LossResponse();
  readonly #startup = new Startup();
  readonly #bandwidthProbe: BandwidthProbe;
  readonly #roundTripProbe = new RoundTripProbe();
  readonly #epoch = new RecoveryEpoch();
  #hasRtt = false;
  /** Whether the window was full in the current round. */
  #wasFull = false;
  /** The state before the current losses, restored if they are spurious (BBRSaveStateUponLoss). */
  #undoState: 'startup' | 'probe-up' | undefined;
  #undoWindow = 0;
  #undoShortTermBandwidth = 0;
  #undoShortTermInflight = 0;
  #undoLongTermInflight = 0;

  /**
   * @param mtu the maximum packet size in bytes.
   * @param random spreads the probes of concurrent flows in time.
   */
  constructor(mtu: number, random: RandomSource) {
    this.#model = new PathModel(mtu);
    this.#bandwidthProbe = new BandwidthProbe(random, this.#pipe, this.#losses);
    this.#model.pacingRate = (GAINS.startup.pacing * initialWindow(mtu)) / INITIAL_RTT;
  }

  get window(): number {
    return this.#model.window;
  }

  get pacingRate(): number {
    return this.#model.pacingRate;
  }

  /** The current state, for diagnostics. */
  get state(): BbrState {
    return this.#model.state;
  }

  /** The estimated bandwidth in bytes per millisecond; 0 before the first estimate. */
  get bandwidth(): number {
    return this.#model.maxBandwidth;
  }

  onSent(now: number, bytes: number, inFlight: number, appLimited: boolean): void {
    const model = this.#model;
    if (inFlight + model.mtu > model.window) {
      this.#wasFull = true;
      model.windowLimited = true;
    }
    if (inFlight <= bytes && appLimited) this.#restartFromIdle(now);
  }

  onAck(event: AckEvent): void {
    const model = this.#model;
    const { now, rate } = event;
    model.inFlight = event.inFlight;
    model.delivered = rate.totalDelivered;
    this.#losses.observe(event, model);
    model.rounds.update(rate);
    if (model.rounds.started) {
      model.windowLimited = this.#wasFull;
      this.#wasFull = false;
    }
    model.updateBandwidth(rate.rate, rate.appLimited || model.state === 'probe-rtt');
    this.#losses.adapt(model);
    model.updateAggregation(now, event.acked);
    this.#pipe.update(event, model);
    this.#leaveStartupForLosses();
    if (this.#startup.update(model)) this.#bandwidthProbe.goDown(now, model);
    this.#bandwidthProbe.onAck(event, model);
    this.#roundTripProbe.update(event, model);
    this.#probeRoundTrip(event);
    this.#losses.finish(event);
    this.#setPacingRate(event);
    this.#setWindow(event);
  }

  onLoss(event: LossEvent): void {
    if (this.#epoch.onLoss(event.now, event.sentAt)) this.#saveState();
    this.#losses.onLoss(event.bytes);
    if (this.#bandwidthProbe.onLoss(event, this.#model)) this.#undoState = 'probe-up';
  }

  onCongestionExperienced(): void {
    this.#losses.onCongestionExperienced();
  }

  onPersistentCongestion(): void {
    // The model is kept: the window grows again with acknowledgements.
    this.#model.window = this.#model.minimumWindow;
  }

  onSpuriousLoss(_now: number, sentAt: number): void {
    if (!this.#epoch.onSpuriousLoss(sentAt)) return;
    const model = this.#model;
    model.window = Math.max(model.window, this.#undoWindow);
    this.#losses.reset();
    this.#pipe.restart();
    model.shortTermBandwidth = Math.max(model.shortTermBandwidth, this.#undoShortTermBandwidth);
    model.shortTermInflight = Math.max(model.shortTermInflight, this.#undoShortTermInflight);
    model.longTermInflight = Math.max(model.longTermInflight, this.#undoLongTermInflight);
    const state = this.#undoState;
    this.#undoState = undefined;
    if (state === 'startup') {
      model.pipeFilled = false;
      if (model.state !== 'probe-rtt') model.state = 'startup';
    } else if (state === 'probe-up' && model.isProbingBandwidthState) {
      if (model.state !== 'probe-up') this.#bandwidthProbe.refill(model);
    }
  }

  onMtu(bytes: number): void {
    this.#model.mtu = bytes;
    this.#model.window = Math.max(this.#model.window, this.#model.minimumWindow);
  }

  #restartFromIdle(now: number): void {
    const model = this.#model;
    this.#roundTripProbe.idle = true;
    model.restartAggregation(now);
    if (model.isProbingBandwidthState) this.#pace(1);
    else if (model.state === 'probe-rtt' && this.#roundTripProbe.isOver(now, model)) {
      this.#leaveProbeRtt(now);
    }
  }

  #leaveStartupForLosses(): void {
    const model = this.#model;
    if (model.state !== 'startup' || !this.#losses.endsStartup) return;
    this.#undoState = 'startup';
    model.pipeFilled = true;
    model.longTermInflight = Math.max(model.product(1), this.#losses.latestInflight);
  }

  #probeRoundTrip(event: AckEvent): void {
    const model = this.#model;
    if (this.#roundTripProbe.enter(event, model)) this.#bandwidthProbe.interrupt();
    if (model.state === 'probe-rtt' && this.#roundTripProbe.isDone(event, model)) {
      this.#leaveProbeRtt(event.now);
    }
    if (event.rate.delivered > 0) this.#roundTripProbe.idle = false;
  }

  #leaveProbeRtt(now: number): void {
    const model = this.#model;
    model.resetShortTerm();
    if (model.pipeFilled) this.#bandwidthProbe.cruise(now, model);
    else model.state = 'startup';
  }

  #setPacingRate(event: AckEvent): void {
    const model = this.#model;
    if (!this.#hasRtt && event.smoothedRtt > 0 && event.latestRtt > 0) {
      // The first measured round trip replaces the assumed one.
      this.#hasRtt = true;
      model.pacingRate = (GAINS.startup.pacing * initialWindow(model.mtu)) / event.smoothedRtt;
    }
    this.#pace(GAINS[model.state].pacing);
  }

  #pace(gain: number): void {
    const model = this.#model;
    const rate = gain * model.bandwidth * PACING_MARGIN;
    // In Startup samples may be too low for many reasons, so they can only raise the rate.
    if (rate > 0 && (model.pipeFilled || rate > model.pacingRate)) model.pacingRate = rate;
  }

  #setWindow({ acked }: AckEvent): void {
    const model = this.#model;
    const most = model.maxInflight;
    let { window } = model;
    if (model.pipeFilled) window = Math.min(window + acked, most);
    else if (window < most || model.delivered < initialWindow(model.mtu)) window += acked;
    window = Math.max(window, model.minimumWindow);
    if (model.state === 'probe-rtt') window = Math.min(window, this.#roundTripProbe.window(model));
    model.window = Math.min(window, Math.max(this.#bound(), model.minimumWindow));
  }

  /** Limits the window to the bounds set by recent congestion (BBRBoundCwndForModel). */
  #bound(): number {
    const { state, shortTermInflight, longTermInflight, inflightWithHeadroom } = this.#model;
    if (state === 'startup' || state === 'drain') return shortTermInflight;
    const cruising = state === 'probe-cruise' || state === 'probe-rtt';
    return Math.min(cruising ? inflightWithHeadroom : longTermInflight, shortTermInflight);
  }

  #saveState(): void {
    const model = this.#model;
    this.#undoState = undefined;
    this.#undoWindow = model.window;
    this.#undoShortTermBandwidth = model.shortTermBandwidth;
    this.#undoShortTermInflight = model.shortTermInflight;
    this.#undoLongTermInflight = model.longTermInflight;
  }
}
