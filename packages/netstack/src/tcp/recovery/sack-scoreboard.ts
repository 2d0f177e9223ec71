import { RangeSet } from '@weir/base/bytes';
import { MAX_SACK_BLOCKS } from '../../wire/tcp.ts';

/** An acceptable ACK, in offsets of this side's stream. The connection reuses one record. */
export interface ReceivedAck {
  /** SEG.ACK: the cumulative acknowledgement. */
  offset: number;
  /** SACK blocks in the order of the option: start and end (excluded) alternately, `blockCount` pairs. */
  readonly blocks: Float64Array;
  blockCount: number;
  /**
   * Time at which the segment was sent whose timestamp is echoed (RFC 7323 §4): the smallest `now` with this
   * timestamp, in milliseconds. -1 without the option.
   */
  echo: number;
  /** Whether this is a duplicate acknowledgement by RFC 5681 §2. Used only if the peer does not send SACK. */
  isDuplicate: boolean;
}

/** Receives the parts of SACK blocks that are reported for the first time. */
export interface SackOwner {
  /** Calls `SackScoreboard.add` for the usable part of the range. */
  sacked(start: number, end: number): void;
}

/**
 * The scoreboard: ranges that the peer has received beyond SND.UNA (RFC 2018 §5, RFC 6675 §3). Blocks repeat earlier
 * reports. Only new ranges are passed on, so an acknowledgement costs its newly reported ranges, and a few binary
 * searches.
 */
export class SackScoreboard {
  readonly #sacked = new RangeSet();
  /** Start of the DSACK block, if there is one. */
  duplicateStart = 0;
  duplicateEnd = 0;

  /** The number of ranges. */
  get ranges(): number {
    return this.#sacked.size;
  }

  /** The end of the highest range; 0 if there is none. */
  get highest(): number {
    return this.#sacked.size === 0 ? 0 : this.#sacked.end(this.#sacked.size - 1);
  }

  /** Whether the last acknowledgement had a DSACK block: data that arrived twice (RFC 2883). */
  get hasDuplicate(): boolean {
    return this.duplicateEnd > this.duplicateStart;
  }

  /** Whether the DSACK block covers this offset. */
  isDuplicate(offset: number): boolean {
    return offset >= this.duplicateStart && offset < this.duplicateEnd;
  }

  /** Whether all of a range is reported. */
  has(start: number, end: number): boolean {
    return this.#sacked.has(start, end);
  }

  /** Adds a range: see `SackOwner`. */
  add(start: number, end: number): void {
    this.#sacked.add(start, end);
  }

  /** Called when SND.UNA has moved. */
  advance(sndUna: number): void {
    if (this.#sacked.size > 0) this.#sacked.remove(0, sndUna);
  }

  /**
   * Discards all reports, since the peer has reneged: it may have discarded data that it had reported (RFC 2018 §8).
   */
  clear(): void {
    this.#sacked.clear();
  }

  /**
   * Takes the blocks of an acknowledgement. Blocks outside SEG.ACK to SND.NXT are ignored, except for a DSACK.
   */
  take(ack: ReceivedAck, sndNxt: number, owner: SackOwner): void {
    this.duplicateStart = 0;
    this.duplicateEnd = 0;
    const count = Math.min(ack.blockCount, MAX_SACK_BLOCKS);
    for (let i = 0; i < count; i++) {
      const start = ack.blocks[i * 2] as number; // below `blockCount`; here and below
      const end = ack.blocks[i * 2 + 1] as number;
      // Written so that NaN is invalid as well.
      if (!(start >= 0 && start < end && end <= sndNxt)) continue;
      if (i === 0 && this.#areDuplicates(ack, start, end, count)) {
        this.duplicateStart = start;
        this.duplicateEnd = end;
      } else if (start > ack.offset) {
        this.#report(start, end, owner);
      }
    }
  }

  /** Whether a block is a DSACK: the first block lies below SEG.ACK, or within the second block (RFC 2883 §4). */
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
