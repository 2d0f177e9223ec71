import type { AckEvent } from '../controller.ts';
import type { PathModel } from './path-model.ts';

/** Growth of the delivery rate that counts as growth. */
const GROWTH = 1.25;
/** Rounds without it after which the pipe is full. */
const ROUNDS_WITHOUT_GROWTH = 3;
/** Drain ends after so many rounds even if the queue seems not to be empty. */
const DRAIN_ROUNDS = 3;

/**
 * Looks for the delivery rate at which sending faster brings nothing (draft, "full pipe").
 *
 * Rounds that the application limited show nothing. Those that flow control limited are not such rounds in
 * the draft, since there was data to send. Here they only count with a queue, which proves that the pipe is
 * full: a connection carries streams with readers of any speed, and a slow one is not the path.
 */
export class FullPipe {
  /** Whether the rate has been found to be flat since the last `restart`. */
  now = false;
  #baseline = 0;
  #rounds = 0;
  /** The best sample of the round: where acknowledgements come together, the first is far too low. */
  #best = 0;
  /** The least round trip of the round; 0 before the first. */
  #leastRtt = 0;

  /** Starts looking again, for growth over `baseline`. */
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

/** The first search for the bandwidth, and the end of the queue that it has made. */
export class Startup {
  #drainStart = 0;

  /**
   * Goes from Startup to Drain when the pipe is full; returns whether Drain is over, so that the first
   * probe cycle begins.
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
