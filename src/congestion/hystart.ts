import type { AckEvent } from './controller.ts';
import { RoundCounter } from './rounds.ts';

/** The increase of the round trip that ends slow start, and its bounds in ms (RFC 9406 §4.3). */
const MIN_RTT_INCREASE = 4;
const MAX_RTT_INCREASE = 16;
const RTT_DIVISOR = 8;
/** Measurements a round needs to count. */
const RTT_SAMPLES = 8;
/** How much slower conservative slow start grows, and how many rounds it lasts. */
const CONSERVATIVE_DIVISOR = 4;
const CONSERVATIVE_ROUNDS = 5;

/**
 * Leaves slow start when round trips grow, before packets are lost (HyStart++, RFC 9406). Packets are
 * paced, so that the growth of one acknowledgement has no limit (its L is infinite).
 */
export class HyStart {
  readonly #rounds = new RoundCounter();
  #lastRoundMinRtt = Infinity;
  #roundMinRtt = Infinity;
  #samples = 0;
  /** The least round trip of the round that began conservative slow start; Infinity outside it. */
  #baseline = Infinity;
  #conservativeRounds = 0;

  /** Takes an acknowledgement of slow start; returns how much the window grows, in bytes. */
  onAck(event: AckEvent): number {
    this.#rounds.update(event.rate);
    if (this.#rounds.started) this.#startRound();
    if (event.latestRtt > 0) {
      this.#roundMinRtt = Math.min(this.#roundMinRtt, event.latestRtt);
      this.#samples++;
    }
    if (this.#samples >= RTT_SAMPLES) this.#compare();
    return this.#conservative ? event.acked / CONSERVATIVE_DIVISOR : event.acked;
  }

  /** Whether conservative slow start has lasted long enough: congestion avoidance begins. */
  get done(): boolean {
    return this.#conservativeRounds >= CONSERVATIVE_ROUNDS;
  }

  get #conservative(): boolean {
    return this.#baseline < Infinity;
  }

  #startRound(): void {
    if (this.#conservative) this.#conservativeRounds++;
    this.#lastRoundMinRtt = this.#roundMinRtt;
    this.#roundMinRtt = Infinity;
    this.#samples = 0;
  }

  #compare(): void {
    if (this.#conservative) {
      // The increase was none: slow start goes on.
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
