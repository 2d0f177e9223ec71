import type { Outstanding } from './outstanding.ts';
import { TIMESTAMP_TICK } from './recovery-limits.ts';

/** A retransmission timeout on which the peer has not yet said anything: whether it was spurious. */
export class TimeoutJudgement {
  /** The first segment, for which it waited, and when that had been sent. */
  #offset = 0;
  #sentAt = 0;
  #firstRepeatedAt = Infinity;
  #sack = false;
  /** What had been sent by then. */
  #point = 0;

  /** When the segment was sent for which the timeout waited. */
  get sentAt(): number {
    return this.#sentAt;
  }

  /** The first timeout of a row; there is something outstanding. */
  begin({ segments, acknowledged, sent }: Outstanding, sack: boolean): void {
    this.#sack = sack;
    this.#point = sent;
    this.#offset = acknowledged;
    this.#sentAt = segments.facts.sentAt(segments.at(0));
    this.#firstRepeatedAt = Infinity;
  }

  /** The segment has left again. */
  onRepeated(now: number): void {
    this.#firstRepeatedAt = Math.min(this.#firstRepeatedAt, now);
  }

  /**
   * Whether an acknowledgement shows that the peer had received what was taken for lost.
   * @param advances whether it acknowledges more than the one before.
   * @param echo see `Acknowledgement`.
   */
  isSpurious(outstanding: Outstanding, advances: boolean, echo: number): boolean {
    const { scoreboard, originalBytes, acknowledged } = outstanding;
    // Nothing has left since then: it acknowledges what was sent before.
    if (this.#firstRepeatedAt === Infinity) return advances || originalBytes > 0;
    if (scoreboard.isDuplicate(this.#offset)) return true;
    // By timestamp (RFC 3522).
    if (advances && echo >= 0) return echo + TIMESTAMP_TICK <= this.#firstRepeatedAt;
    // By what was sent only once (RFC 5682 §3); without SACK that says nothing.
    return this.#sack && originalBytes > 0 && acknowledged < this.#point;
  }
}
