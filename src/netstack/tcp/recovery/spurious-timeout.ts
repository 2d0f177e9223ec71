import type { Outstanding } from './outstanding.ts';
import { TIMESTAMP_TICK } from './recovery-limits.ts';

/**
 * Decides whether a retransmission timeout was spurious, from the first acknowledgements after it: by
 * timestamp (Eifel, RFC 3522), by duplicates (RFC 2883), or because segments that were sent only once have
 * arrived (F-RTO, RFC 5682).
 */
export class SpuriousTimeout {
  /** The segment that timed out, and when it had been sent. */
  readonly #offset: number;
  readonly #sentAt: number;
  readonly #sack: boolean;
  /** SND.NXT at the timeout. */
  readonly #point: number;
  #firstResentAt = Infinity;

  /** Records the first timeout of a series; data is outstanding. */
  constructor({ segments, sndUna, sndNxt }: Outstanding, sack: boolean) {
    this.#sack = sack;
    this.#point = sndNxt;
    this.#offset = sndUna;
    this.#sentAt = segments.facts.sentAt(segments.at(0));
  }

  /** Time at which the segment that timed out had been sent. */
  get sentAt(): number {
    return this.#sentAt;
  }

  /** Called when the segment was retransmitted. */
  onResent(now: number): void {
    this.#firstResentAt = Math.min(this.#firstResentAt, now);
  }

  /**
   * Whether an acknowledgement shows that the peer had received the original segment.
   * @param advances whether it moves SND.UNA.
   * @param echo see `ReceivedAck`.
   */
  isSpurious(outstanding: Outstanding, advances: boolean, echo: number): boolean {
    const { scoreboard, originalBytes, sndUna } = outstanding;
    // The retransmission has not left yet, so this acknowledges the original.
    if (this.#firstResentAt === Infinity) return advances || originalBytes > 0;
    if (scoreboard.isDuplicate(this.#offset)) return true;
    // RFC 3522.
    if (advances && echo >= 0) return echo + TIMESTAMP_TICK <= this.#firstResentAt;
    // RFC 5682 §3. Without SACK the acknowledgement does not show which segments have arrived.
    return this.#sack && originalBytes > 0 && sndUna < this.#point;
  }
}
