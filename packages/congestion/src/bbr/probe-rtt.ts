import type { AckEvent } from '../controller.ts';
import { GAINS, type PathModel } from './path-model.ts';

/** MinRTTFilterLen: milliseconds for which a minimum round-trip time is valid. */
const FILTER_TIME = 10_000;
/** ProbeRTTInterval: milliseconds without a new minimum after which the queue is drained to measure the minimum. */
const PROBE_INTERVAL = 5000;
/**
 * ProbeRTTDuration: milliseconds for which the queue is kept drained, so that the phases of concurrent flows overlap.
 */
const PROBE_TIME = 200;

/** Tracks the minimum round-trip time, and periodically drains the queue to measure it (ProbeRTT). */
export class RoundTripProbe {
  /** Whether the sender was idle, which has drained the queue as well. */
  idle = false;
  #filled = false;
  #minimumAt = 0;
  #recent = Infinity;
  #recentAt = 0;
  #expired = false;
  #doneAt: number | undefined;
  #roundDone = false;
  #priorWindow = 0;

  /** Updates the minimum with the sample of an acknowledgement. */
  update({ now, latestRtt }: AckEvent, model: PathModel): void {
    if (!this.#filled) {
      this.#filled = true;
      this.#recentAt = now;
      this.#minimumAt = now;
    }
    this.#expired = now > this.#recentAt + PROBE_INTERVAL;
    if (latestRtt > 0 && (latestRtt < this.#recent || this.#expired)) {
      this.#recent = latestRtt;
      this.#recentAt = now;
    }
    if (this.#recent < model.minRtt || now > this.#minimumAt + FILTER_TIME) {
      model.minRtt = this.#recent;
      this.#minimumAt = this.#recentAt;
    }
  }

  /** Enters ProbeRTT if it is due. Returns whether it was. */
  enter(event: AckEvent, model: PathModel): boolean {
    if (model.state === 'probe-rtt' || !this.#expired || this.idle) return false;
    model.state = 'probe-rtt';
    this.#doneAt = undefined;
    this.#priorWindow = model.window;
    model.rounds.restart(event.rate.totalDelivered);
    return true;
  }

  /** Whether ProbeRTT has ended; the window is then restored. */
  isDone({ now }: { readonly now: number }, model: PathModel): boolean {
    if (this.#doneAt === undefined) {
      if (model.inFlight > this.window(model)) return false;
      this.#doneAt = now + PROBE_TIME;
      this.#roundDone = false;
      model.rounds.restart(model.delivered);
      return false;
    }
    if (model.rounds.started) this.#roundDone = true;
    return this.#roundDone && this.isOver(now, model);
  }

  /** Whether ProbeRTT has ended after an idle period, which also ends its round. */
  isOver(now: number, model: PathModel): boolean {
    if (this.#doneAt === undefined || now <= this.#doneAt) return false;
    this.#recentAt = now;
    this.#doneAt = undefined;
    model.window = Math.max(model.window, this.#priorWindow);
    return true;
  }

  /** Returns the window during ProbeRTT in bytes: half a bandwidth-delay product. */
  window(model: PathModel): number {
    return Math.max(model.product(GAINS['probe-rtt'].window), model.minimumWindow);
  }
}
