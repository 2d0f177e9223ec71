import { ClassicWindow } from './classic-window.ts';
import type { AckEvent } from './controller.ts';
import { HyStart } from './hystart.ts';

/** RFC 9438 §4.1, §4.6: the constant of the cubic function in packets per cubed second. */
const C = 0.4;
/** What is left of the window after a loss. */
const BETA = 0.7;
/** The additive increase that gives a Reno flow with this factor the same average (§4.3). */
const RENO_ALPHA = (3 * (1 - BETA)) / (1 + BETA);

/** CUBIC (RFC 9438) with fast convergence and HyStart++ (RFC 9406). */
export class Cubic extends ClassicWindow {
  readonly name = 'cubic';
  #hyStart = new HyStart();
  /** The window at which the curve is flat, W_max. */
  #plateau = 0;
  /** When the present congestion avoidance began; `undefined` before its first acknowledgement. */
  #avoidanceStart: number | undefined;
  /** Milliseconds from then until the curve reaches the plateau, K. */
  #plateauTime = 0;
  /** What Reno would have, W_est. */
  #renoWindow = 0;
  #priorPlateau = 0;

  protected growInSlowStart(event: AckEvent): boolean {
    this.size += this.#hyStart.onAck(event);
    return this.#hyStart.done;
  }

  protected onUnused(elapsed: number): void {
    // Time in which the window was not used does not count for the curve (§5.8).
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
    // Reno's growth, faster once it has made up for the smaller reduction (§4.3).
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

  /** W_cubic, in bytes, so many milliseconds after congestion avoidance began (§4.2). */
  #curve(elapsed: number): number {
    const seconds = (elapsed - this.#plateauTime) / 1000;
    return this.#plateau + C * seconds * seconds * seconds * this.mtu;
  }

  protected reducedWindow(): number {
    this.#priorPlateau = this.#plateau;
    // Fast convergence: a flow that did not reach its last plateau gives room to new ones (§4.7).
    const losesGround = this.size < this.#plateau;
    this.#plateau = losesGround ? (this.size * (1 + BETA)) / 2 : this.size;
    this.#avoidanceStart = undefined;
    return this.size * BETA;
  }
}
