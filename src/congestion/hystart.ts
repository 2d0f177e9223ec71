import type { AckEvent } from './controller.ts';
import { RoundCounter } from './rounds.ts';

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
export class HyStart {
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
