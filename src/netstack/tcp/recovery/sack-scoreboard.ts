import { RangeSet } from '../../../collections/range-set.ts';
import { MAX_SACK_BLOCKS } from '../../wire/tcp.ts';
import type { ReceivedAck } from './received-ack.ts';

/** Takes what a SACK block reports for the first time. */
export interface SackOwner {
  /** @returns nothing; it calls `SackScoreboard.add` for as much as it could use. */
  sacked(start: number, end: number): void;
}

/**
 * What the peer holds beyond the cumulative acknowledgement (RFC 2018 §5, RFC 6675 §3). Blocks repeat
 * what earlier ones said; only what is new is passed on, so an acknowledgement costs no more than what
 * it newly reports, and a few searches.
 */
export class SackScoreboard {
  readonly #sacked = new RangeSet();
  #duplicateStart = 0;
  #duplicateEnd = 0;

  /** Ranges that the peer reported. */
  get ranges(): number {
    return this.#sacked.size;
  }

  /** The end of the highest of them; 0 without any. */
  get highest(): number {
    return this.#sacked.size === 0 ? 0 : this.#sacked.end(this.#sacked.size - 1);
  }

  /** Whether the last acknowledgement reported data that arrived twice (RFC 2883). */
  get hasDuplicate(): boolean {
    return this.#duplicateEnd > this.#duplicateStart;
  }

  /** Whether it reported this offset among them. */
  isDuplicate(offset: number): boolean {
    return offset >= this.#duplicateStart && offset < this.#duplicateEnd;
  }

  /** Where they begin and end, when there are any. */
  get duplicateStart(): number {
    return this.#duplicateStart;
  }

  get duplicateEnd(): number {
    return this.#duplicateEnd;
  }

  /** Whether all of this is reported. */
  has(start: number, end: number): boolean {
    return this.#sacked.has(start, end);
  }

  /** This much of a block has been taken. */
  add(start: number, end: number): void {
    this.#sacked.add(start, end);
  }

  /** The cumulative acknowledgement has come this far. */
  advance(acknowledged: number): void {
    if (this.#sacked.size > 0) this.#sacked.remove(0, acknowledged);
  }

  /** The peer may have dropped what it had reported (RFC 2018 §8). */
  clear(): void {
    this.#sacked.clear();
  }

  /**
   * Takes the blocks of an acknowledgement. Those that do not lie between the cumulative acknowledgement
   * and `sndNxt` are ignored but for a report of duplicates.
   */
  take(ack: ReceivedAck, sndNxt: number, owner: SackOwner): void {
    this.#duplicateStart = 0;
    this.#duplicateEnd = 0;
    const count = Math.min(ack.blockCount, MAX_SACK_BLOCKS);
    for (let i = 0; i < count; i++) {
      const start = ack.blocks[i * 2] as number; // there are `blockCount`; here and below
      const end = ack.blocks[i * 2 + 1] as number;
      // Written so that a block which is not a number is invalid as well.
      if (!(start >= 0 && start < end && end <= sndNxt)) continue;
      if (i === 0 && this.#areDuplicates(ack, start, end, count)) {
        this.#duplicateStart = start;
        this.#duplicateEnd = end;
      } else if (start > ack.offset) {
        this.#report(start, end, owner);
      }
    }
  }

  /** The first block may repeat what is acknowledged, or what the second block has (RFC 2883 §4). */
  #areDuplicates(ack: ReceivedAck, start: number, end: number, count: number): boolean {
    if (start < ack.offset) return end <= ack.offset;
    if (count < 2) return false;
    return start >= (ack.blocks[2] as number) && end <= (ack.blocks[3] as number);
  }

  #report(start: number, end: number, owner: SackOwner): void {
    const sacked = this.#sacked;
    for (let at = start; at < end;) {
      const next = sacked.find(at);
      const from = next < sacked.size ? sacked.start(next) : Infinity;
      if (from <= at) {
        at = sacked.end(next);
        continue;
      }
      const until = Math.min(from, end);
      owner.sacked(at, until);
      at = until;
    }
  }
}
