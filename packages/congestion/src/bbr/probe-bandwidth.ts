import type { RandomSource } from '@weir/base/random';
import type { AckEvent, LossEvent } from '../controller.ts';
import type { LossResponse } from './loss-response.ts';
import type { PathModel } from './path-model.ts';
import type { FullPipe } from './phases.ts';

/**
 * Milliseconds between two probes: the minimum, and a random part so that concurrent flows do not probe at the same
 * time.
 */
const PROBE_WAIT = 2000;
const RANDOM_WAIT = 1000;
/** Maximum number of rounds between two probes: Reno with a window of this many packets needs as many. */
const MOST_ROUNDS = 63;
/** The draft's Beta: after excessive loss the bound is at least this fraction of the target. */
const BETA = 0.7;
/** Maximum exponent of the growth of the long-term bound from round to round. */
const MOST_GROWTH_ROUNDS = 30;

/** ack_phase: the part of the probe to which the current acknowledgements belong. */
type Feedback = 'none' | 'refilling' | 'starting' | 'probing' | 'stopping';

/** The cycle of the ProbeBW states: down, cruise, refill, up. */
export class BandwidthProbe {
  readonly #random: RandomSource;
  readonly #pipe: FullPipe;
  readonly #losses: LossResponse;
  #feedback: Feedback = 'none';
  /** bw_probe_samples: whether current losses and acknowledgements belong to a probe that has not been responded to. */
  #sampling = false;
  #cycleStart = 0;
  #wait = 0;
  #roundsSinceProbe = 0;
  /** Whether the last probe lost too much: the next probe then stops at the same number of bytes in flight. */
  #tooHigh = false;
  #precautionary = false;
  #upRounds = 0;
  #upAcked = 0;
  #ackedPerIncrease = Infinity;

  constructor(random: RandomSource, pipe: FullPipe, losses: LossResponse) {
    this.#random = random;
    this.#pipe = pipe;
    this.#losses = losses;
  }

  /** Starts a cycle with ProbeBW_DOWN, which empties the queue. */
  goDown(now: number, model: PathModel): void {
    this.#losses.reset();
    this.#ackedPerIncrease = Infinity;
    this.#roundsSinceProbe = this.#random.below(2);
    this.#wait = PROBE_WAIT + this.#random.below(RANDOM_WAIT);
    this.#cycleStart = now;
    this.#feedback = 'stopping';
    model.rounds.restart(model.delivered);
    model.state = 'probe-down';
  }

  /** Continues with ProbeBW_CRUISE after ProbeRTT, which has emptied the queue and measured no bandwidth. */
  cruise(now: number, model: PathModel): void {
    this.goDown(now, model);
    this.#feedback = 'none';
    model.state = 'probe-cruise';
  }

  /** Enters ProbeBW_REFILL, which fills the pipe before the rate is raised. */
  refill(model: PathModel): void {
    model.resetShortTerm();
    this.#upRounds = 0;
    this.#upAcked = 0;
    this.#precautionary = false;
    this.#feedback = 'refilling';
    model.rounds.restart(model.delivered);
    model.state = 'probe-refill';
  }

  /** Called when ProbeRTT interrupts the cycle. */
  interrupt(): void {
    this.#feedback = 'stopping';
  }

  onAck(event: AckEvent, model: PathModel): void {
    if (model.rounds.started) this.#roundsSinceProbe++;
    if (!model.pipeFilled || this.#adaptLongTerm(event, model)) return;
    switch (model.state) {
      case 'probe-down':
        if (this.#isTimeToProbe(event.now, model)) this.refill(model);
        else if (
          model.inFlight <= model.inflightWithHeadroom &&
          model.inFlight <= model.inflight(1, model.maxBandwidth)
        ) {
          model.state = 'probe-cruise';
          // Losses of the probe do not count afterwards.
          this.#losses.reset();
        }
        return;
      case 'probe-cruise':
        if (this.#isTimeToProbe(event.now, model)) this.refill(model);
        return;
      case 'probe-refill':
        if (model.rounds.started) this.#goUp(event, model);
        return;
      case 'probe-up':
        if (!this.#isTimeToGoDown(event, model)) return;
        this.#tooHigh = false;
        this.goDown(event.now, model);
        return;
      case 'startup':
      case 'drain':
      case 'probe-rtt':
    }
  }

  /** Processes a loss. Returns whether the loss has ended ProbeBW_UP. */
  onLoss(event: LossEvent, model: PathModel): boolean {
    if (!this.#sampling) return false;
    if (!this.#losses.isInflightTooHigh(event.lostSinceSend, event.inFlightAtSend, model.mtu))
      return false;
    this.#tooHigh = true;
    // At most one response per probe.
    this.#sampling = false;
    if (!event.appLimited) {
      model.longTermInflight = Math.max(
        this.#losses.inflightAtLoss(event),
        model.targetInflight * BETA,
      );
    }
    if (model.state !== 'probe-up') return false;
    this.goDown(event.now, model);
    return true;
  }

  #goUp(event: AckEvent, model: PathModel): void {
    this.#sampling = true;
    this.#feedback = 'starting';
    model.rounds.restart(model.delivered);
    this.#pipe.restart(event.rate.rate);
    model.state = 'probe-up';
    this.#raiseSlope(model);
  }

  /** Adapts the long-term bound. Returns whether it has determined the next state. */
  #adaptLongTerm(event: AckEvent, model: PathModel): boolean {
    if (this.#feedback === 'starting' && model.rounds.started) this.#feedback = 'probing';
    if (this.#feedback === 'stopping' && model.rounds.started) {
      this.#sampling = false;
      this.#feedback = 'none';
      if (model.isProbingBandwidthState) {
        if (!event.rate.appLimited) model.advanceBandwidth();
        // The precautionary probe lost little: continue with a complete one.
        if (this.#precautionary && !this.#tooHigh) {
          this.refill(model);
          return true;
        }
      }
    }
    const { lost, inFlightAtSend } = event.rate;
    if (this.#losses.isInflightTooHigh(lost, inFlightAtSend, model.mtu)) return false;
    if (model.longTermInflight === Infinity) return false;
    if (inFlightAtSend > model.longTermInflight) model.longTermInflight = inFlightAtSend;
    if (model.state === 'probe-up') this.#growLongTerm(event.acked, model);
    return false;
  }

  #growLongTerm(acked: number, model: PathModel): void {
    if (!model.windowLimited || model.window < model.longTermInflight) return;
    this.#upAcked += acked;
    if (this.#upAcked >= this.#ackedPerIncrease) {
      const steps = Math.floor(this.#upAcked / this.#ackedPerIncrease);
      this.#upAcked -= steps * this.#ackedPerIncrease;
      model.longTermInflight += steps * model.mtu;
    }
    if (model.rounds.started) this.#raiseSlope(model);
  }

  /** Doubles the growth per round: one packet in the first round, two in the next, then four, and so on. */
  #raiseSlope(model: PathModel): void {
    const growth = 2 ** this.#upRounds;
    this.#upRounds = Math.min(this.#upRounds + 1, MOST_GROWTH_ROUNDS);
    this.#ackedPerIncrease = Math.max(model.window / growth, model.mtu);
  }

  #isTimeToProbe(now: number, model: PathModel): boolean {
    if (now > this.#cycleStart + this.#wait) return true;
    // Long enough for Reno to recover from a probe.
    const renoRounds = model.targetInflight / model.mtu;
    return this.#roundsSinceProbe >= Math.min(renoRounds, MOST_ROUNDS);
  }

  #isTimeToGoDown(event: AckEvent, model: PathModel): boolean {
    if (this.#tooHigh && model.inFlight >= model.longTermInflight) {
      this.#precautionary = true;
      return true;
    }
    if (model.windowLimited && model.window >= model.longTermInflight) {
      // The bound, not the path, limits the rate.
      this.#pipe.restart(event.rate.rate);
      return false;
    }
    return this.#pipe.now;
  }
}
