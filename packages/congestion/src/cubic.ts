import type { AckEvent } from './controller.ts';
import { RoundCounter } from './epochs.ts';
import { ClassicWindow } from './classic-window.ts';

/**
 * The increase of the round-trip time that ends slow start: its bounds in milliseconds, and its divisor (RFC 9406
 * §4.3).
 */
const MIN_RTT_INCREASE = 4;
const MAX_RTT_INCREASE = 16;
const RTT_DIVISOR = 8;
/** N_RTT_SAMPLE: number of samples that a round needs. */
const RTT_SAMPLES = 8;
/** CSS_GROWTH_DIVISOR and CSS_ROUNDS: the reduction of growth in conservative slow start, and its number of rounds. */
const CONSERVATIVE_DIVISOR = 4;
const CONSERVATIVE_ROUNDS = 5;

/**
 * HyStart++ (RFC 9406): leaves slow start when round-trip times increase, before packets are lost. Packets are paced,
 * so the growth per acknowledgement is not limited (L is infinite).
 */
class HyStart {
  readonly #rounds = new RoundCounter();
  #lastRoundMinRtt = Infinity;
  #roundMinRtt = Infinity;
  #samples = 0;
  /** cssBaselineMinRtt: set during conservative slow start, otherwise Infinity. */
  #baseline = Infinity;
  #conservativeRounds = 0;

  /** Processes an acknowledgement in slow start. Returns the growth of the window in bytes. */
  onAck(event: AckEvent): number {
    this.#rounds.update(event.rate);
    if (this.#rounds.started) this.#startRound();
    if (event.latestRtt > 0) {
      this.#roundMinRtt = Math.min(this.#roundMinRtt, event.latestRtt);
      this.#samples++;
    }
    if (this.#samples >= RTT_SAMPLES) this.#compare();
    return this.#conservative() ? event.acked / CONSERVATIVE_DIVISOR : event.acked;
  }

  /** Whether conservative slow start has lasted CSS_ROUNDS: congestion avoidance begins. */
  get done(): boolean {
    return this.#conservativeRounds >= CONSERVATIVE_ROUNDS;
  }

  #conservative(): boolean {
    return this.#baseline < Infinity;
  }

  #startRound(): void {
    if (this.#conservative()) this.#conservativeRounds++;
    this.#lastRoundMinRtt = this.#roundMinRtt;
    this.#roundMinRtt = Infinity;
    this.#samples = 0;
  }

  #compare(): void {
    if (this.#conservative()) {
      // The increase was spurious: returns to slow start.
      if (this.#roundMinRtt < this.#baseline) {
        this.#baseline = Infinity;
        this.#conservativeRounds = 0;
      }
      return;
    }
    if (this.#lastRoundMinRtt === Infinity) return;
    const increase = Math.min(
      Math.max(this.#lastRoundMinRtt / RTT_DIVISOR, MIN_RTT_INCREASE),
      MAX_RTT_INCREASE,
    );
    if (this.#roundMinRtt >= this.#lastRoundMinRtt + increase) this.#baseline = this.#roundMinRtt;
  }
}

/** RFC 9438 §4.1, §4.6: the constant of the cubic function in packets per cubed second. */
const C = 0.4;
/** beta_cubic: the factor of the window after a loss. */
const BETA = 0.7;
/** alpha_cubic: the additive increase with which a flow reduced by BETA has the average window of Reno (§4.3). */
const RENO_ALPHA = (3 * (1 - BETA)) / (1 + BETA);

/** CUBIC (RFC 9438) with fast convergence and HyStart++ (RFC 9406). */
export class Cubic extends ClassicWindow {
  readonly name = 'cubic';
  #hyStart = new HyStart();
  /** W_max: the window at which the curve is flat, in bytes. */
  #plateau = 0;
  /** t_epoch: the time at which congestion avoidance began; `undefined` before its first acknowledgement. */
  #avoidanceStart: number | undefined;
  /** K: milliseconds from t_epoch until the curve reaches the plateau. */
  #plateauTime = 0;
  /** W_est: the window of a Reno flow in bytes. */
  #renoWindow = 0;
  /** W_max before the last reduction. */
  #priorPlateau = 0;

  protected growInSlowStart(event: AckEvent): boolean {
    this.size += this.#hyStart.onAck(event);
    return this.#hyStart.done;
  }

  protected onUnused(elapsed: number): void {
    // Time in which the window was not used does not advance the curve (§5.8).
    if (this.#avoidanceStart !== undefined) this.#avoidanceStart += elapsed;
  }

  protected restart(): void {
    this.#avoidanceStart = undefined;
    this.#hyStart = new HyStart();
  }

  protected onUndone(): void {
    this.#plateau = this.#priorPlateau;
    this.#avoidanceStart = undefined;
  }

  protected avoidCongestion({ now, acked, smoothedRtt }: AckEvent): void {
    this.#avoidanceStart ??= this.#startAvoidance(now);
    const elapsed = now - this.#avoidanceStart;
    // Once W_est has reached cwnd_prior it grows as Reno does (§4.3).
    const alpha = this.#renoWindow >= this.priorWindow ? 1 : RENO_ALPHA;
    this.#renoWindow += (alpha * acked * this.mtu) / this.size;
    if (this.#curve(elapsed) < this.#renoWindow) {
      this.size = Math.max(this.size, this.#renoWindow);
      return;
    }
    const target = Math.min(
      Math.max(this.#curve(elapsed + smoothedRtt), this.size),
      1.5 * this.size,
    );
    this.size += ((target - this.size) * acked) / this.size;
  }

  #startAvoidance(now: number): number {
    if (this.size < this.#plateau) {
      const packets = (this.#plateau - this.size) / this.mtu;
      this.#plateauTime = Math.cbrt(packets / C) * 1000;
    } else {
      this.#plateau = this.size;
      this.#plateauTime = 0;
    }
    this.#renoWindow = this.size;
    return now;
  }

  /** Computes W_cubic(t) in bytes, `elapsed` milliseconds after congestion avoidance began (§4.2). */
  #curve(elapsed: number): number {
    const seconds = (elapsed - this.#plateauTime) / 1000;
    return this.#plateau + C * seconds * seconds * seconds * this.mtu;
  }

  protected reducedWindow(): number {
    this.#priorPlateau = this.#plateau;
    // Fast convergence: a flow that has not reached its last plateau releases bandwidth to new flows (§4.7).
    const losesGround = this.size < this.#plateau;
    this.#plateau = losesGround ? (this.size * (1 + BETA)) / 2 : this.size;
    this.#avoidanceStart = undefined;
    return this.size * BETA;
  }
}
