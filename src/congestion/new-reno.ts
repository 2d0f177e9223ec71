import { windowPacingRate, windowWasUsed } from './classic-window.ts';
import {
  type AckEvent,
  type CongestionController,
  initialWindow,
  type LossEvent,
  MINIMUM_WINDOW_PACKETS,
} from './controller.ts';
import { RecoveryEpoch } from './recovery-epoch.ts';

/** What is left of the window after a loss (RFC 9002 §7.3.2). */
const LOSS_REDUCTION = 0.5;

/** NewReno as RFC 9002 §7 and appendix B describe it: the simple one that others are compared with. */
export class NewReno implements CongestionController {
  readonly name = 'newreno';
  readonly #epoch = new RecoveryEpoch();
  #mtu: number;
  #window: number;
  #threshold = Infinity;
  /** Bytes acknowledged since the window last grew, in congestion avoidance. */
  #acked = 0;
  #smoothedRtt = 0;
  /** Before the last reduction, in case that it was spurious. */
  #priorWindow = 0;
  #priorThreshold = Infinity;

  /** @param mtu the most bytes of a packet. */
  constructor(mtu: number) {
    this.#mtu = mtu;
    this.#window = initialWindow(mtu);
  }

  get window(): number {
    return this.#window;
  }

  get pacingRate(): number {
    return windowPacingRate(this.#window, this.#smoothedRtt, this.#inSlowStart);
  }

  onSent(): void {
    // The window follows acknowledgements and losses alone.
  }

  onAck(event: AckEvent): void {
    this.#smoothedRtt = event.smoothedRtt;
    if (this.#epoch.covers(event.newestSentAt)) return;
    if (!windowWasUsed(event, this.#window, this.#inSlowStart, this.#mtu)) return;
    if (this.#inSlowStart) {
      this.#window += event.acked;
      return;
    }
    this.#acked += event.acked;
    while (this.#acked >= this.#window) {
      this.#acked -= this.#window;
      this.#window += this.#mtu;
    }
  }

  onLoss({ now, sentAt }: LossEvent): void {
    if (this.#epoch.onLoss(now, sentAt)) this.#reduce();
  }

  onCongestionExperienced(now: number, sentAt: number): void {
    if (this.#epoch.onCongestionExperienced(now, sentAt)) this.#reduce();
  }

  onPersistentCongestion(): void {
    this.#window = this.#minimum;
    this.#acked = 0;
    this.#epoch.end();
  }

  onSpuriousLoss(_now: number, sentAt: number): void {
    if (!this.#epoch.onSpuriousLoss(sentAt)) return;
    this.#window = Math.max(this.#window, this.#priorWindow);
    this.#threshold = this.#priorThreshold;
  }

  onMtu(bytes: number): void {
    this.#mtu = bytes;
    this.#window = Math.max(this.#window, this.#minimum);
  }

  get #inSlowStart(): boolean {
    return this.#window < this.#threshold;
  }

  get #minimum(): number {
    return MINIMUM_WINDOW_PACKETS * this.#mtu;
  }

  #reduce(): void {
    this.#priorWindow = this.#window;
    this.#priorThreshold = this.#threshold;
    this.#window = Math.max(this.#window * LOSS_REDUCTION, this.#minimum);
    this.#threshold = this.#window;
    this.#acked = 0;
  }
}
