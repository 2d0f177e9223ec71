import { ClassicWindow } from './classic-window.ts';
import type { AckEvent } from './controller.ts';

/** What is left of the window after a loss (RFC 9002 §7.3.2). */
const LOSS_REDUCTION = 0.5;

/** NewReno as RFC 9002 §7 and appendix B describe it: the simple one that others are compared with. */
export class NewReno extends ClassicWindow {
  readonly name = 'newreno';
  /** Bytes acknowledged since the window last grew, in congestion avoidance. */
  #acked = 0;
  /** Before the last reduction, in case that it was spurious. */
  #priorWindow = 0;
  #priorThreshold = Infinity;

  onAck(event: AckEvent): void {
    this.smoothedRtt = event.smoothedRtt;
    if (this.epoch.covers(event.newestSentAt)) return;
    if (!this.wasUsed(event)) return;
    if (this.inSlowStart) {
      this.size += event.acked;
      return;
    }
    this.#acked += event.acked;
    while (this.#acked >= this.size) {
      this.#acked -= this.size;
      this.size += this.mtu;
    }
  }

  onPersistentCongestion(): void {
    this.size = this.minimum;
    this.#acked = 0;
    this.epoch.end();
  }

  onSpuriousLoss(_now: number, sentAt: number): void {
    if (!this.epoch.onSpuriousLoss(sentAt)) return;
    this.size = Math.max(this.size, this.#priorWindow);
    this.threshold = this.#priorThreshold;
  }

  protected reduce(): void {
    this.#priorWindow = this.size;
    this.#priorThreshold = this.threshold;
    this.size = Math.max(this.size * LOSS_REDUCTION, this.minimum);
    this.threshold = this.size;
    this.#acked = 0;
  }
}
