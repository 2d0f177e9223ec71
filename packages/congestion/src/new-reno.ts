import { ClassicWindow } from './classic-window.ts';
import type { AckEvent } from './controller.ts';

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
