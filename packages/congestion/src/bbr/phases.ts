import type { AckEvent } from '../controller.ts';
import { type PathModel, GAINS } from './path-model.ts';

/** Factor by which the delivery rate must grow in a round to count as growing. */
const GROWTH = 1.25;
/** Number of rounds without growth after which the pipe is full. */
const ROUNDS_WITHOUT_GROWTH = 3;
/** Number of rounds after which Drain ends even if the queue does not seem empty. */
const DRAIN_ROUNDS = 3;

/**
 * Detects that the delivery rate has stopped growing (draft, "full pipe").
 *
 * Application-limited rounds do not count. In the draft, rounds limited by flow control count, since there was data to
 * send. Here they count only with a queue, which proves that the pipe is full: the readers of a connection's streams
 * may be slow, which says nothing about the path.
 */
export class FullPipe {
  /** full_bw_now: whether the rate has stopped growing since the last `restart`. */
  now = false;
  #baseline = 0;
  #rounds = 0;
  /** The maximum sample of the round. If acknowledgements arrive in bursts, the first sample is far too low. */
  #best = 0;
  /** Minimum round-trip time of the round in milliseconds; 0 before the first sample. */
  #leastRtt = 0;

  /** Restarts the detection, with growth measured against `baseline`. */
  restart(baseline = 0): void {
    this.now = false;
    this.#baseline = baseline;
    this.#rounds = 0;
    this.#best = 0;
    this.#leastRtt = 0;
  }

  update({ rate, latestRtt }: AckEvent, model: PathModel): void {
    if (this.now) return;
    const leastRtt = this.#leastRtt;
    if (model.rounds.started || leastRtt === 0) this.#leastRtt = latestRtt;
    else if (latestRtt > 0) this.#leastRtt = Math.min(leastRtt, latestRtt);
    const best = Math.max(this.#best, rate.rate);
    this.#best = model.rounds.started ? rate.rate : best;
    if (!model.rounds.started) return;
    const provesFull = rate.flowLimited && model.showsQueue(leastRtt);
    if (rate.appLimited && !provesFull) return;
    if (best >= this.#baseline * GROWTH) {
      this.restart(best);
      return;
    }
    this.#rounds++;
    this.now = this.#rounds >= ROUNDS_WITHOUT_GROWTH;
    if (this.now) model.pipeFilled = true;
  }
}

/**
 * Controls Startup, the initial search for the bandwidth, and Drain, which empties the queue that Startup has built.
 */
export class Startup {
  #drainStart = 0;

  /**
   * Enters Drain from Startup when the pipe is full. Returns whether Drain has ended, so that the first probe cycle
   * begins.
   */
  update(model: PathModel): boolean {
    if (model.state === 'startup' && model.pipeFilled) {
      model.state = 'drain';
      this.#drainStart = model.rounds.count;
    }
    return (
      model.state === 'drain' &&
      (model.inFlight <= model.inflight(1) || model.rounds.count > this.#drainStart + DRAIN_ROUNDS)
    );
  }
}

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
