import type { AckEvent } from '../controller.ts';
import type { PathModel } from './path-model.ts';

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
