import type { ByteLink } from '../links/link.ts';
import { asSole, copyOf, isSole } from '../links/spent-chunk.ts';
import { unlessAborted } from '../time/unless-aborted.ts';
import { UnitShare } from './unit-share.ts';

/** Bytes of a read that are decoded at once while its units are small: about a hundred of them. */
export const SMALL_PIECE = 4 << 10;
/** Bytes that may have a unit of their own: what peers send in bulk has fewer. */
const BYTES_A_UNIT = 512;
/**
 * Links of the process of which a read waits, each with its 64 KB. Beyond it reads are decoded as a whole, and the
 * turns of the sockets bound the work.
 */
const MOST_WAITING_READS = 512;
let waitingReads = 0;

/**
 * The reads of a connection of sealed units, such as AEAD chunks or TLS records. A read of 64 KB has four of them, or
 * 2,800 with a byte in each, which cost fifty times as much. While they are small a read is decoded in pieces, and
 * what is more than a unit in `BYTES_A_UNIT` counts in the share of a turn. Others cost nothing here.
 */
export class SmallUnits {
  readonly #cost: number;
  readonly #share = new UnitShare();
  /** Until bytes in bulk have shown otherwise. */
  #areSmall = true;
  /** What is left of a read, and the turn in which it is decoded. */
  #rest: Uint8Array | undefined;
  #turn: Promise<void> | undefined;

  /** @param cost of a unit, see `UnitCost`. */
  constructor(cost: number) {
    this.#cost = cost;
  }

  /** Whether `next` returns what is decoded next, and not a read of the link below. */
  get isWaiting(): boolean {
    return this.#rest !== undefined || this.#turn !== undefined;
  }

  /** Waits for its turn, then returns what is left of the last read, or a read of `link`. */
  async next(
    link: Pick<ByteLink, 'read'>,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array | undefined> {
    if (this.#turn) await unlessAborted(this.#turn, signal);
    this.#turn = undefined;
    const rest = this.#rest;
    this.release();
    return rest ?? link.read(signal);
  }

  /** The part of a read that is decoded now; the rest is returned by `next`. */
  cut<Bytes extends Uint8Array | undefined>(bytes: Bytes): Bytes | Uint8Array {
    if (!bytes || !this.#areSmall || bytes.length <= SMALL_PIECE) return bytes;
    if (waitingReads >= MOST_WAITING_READS) return bytes;
    waitingReads++;
    const rest = bytes.subarray(SMALL_PIECE);
    // The piece is a copy, so that the rest can be freed with the memory of the read.
    this.#rest = isSole(bytes) ? asSole(rest) : rest;
    return copyOf(bytes.subarray(0, SMALL_PIECE));
  }

  /** Counts the units that `bytes` bytes have completed. */
  count(units: number, bytes: number): void {
    // One is what a read of a conversation has.
    const excess = units - 1 - Math.floor(bytes / BYTES_A_UNIT);
    if (excess > 0) {
      this.#areSmall = true;
      this.#turn = this.#share.take(excess * this.#cost);
    } else if (bytes >= SMALL_PIECE) {
      this.#areSmall = false;
    }
  }

  /** Drops what is left of a read. */
  release(): void {
    if (this.#rest) waitingReads--;
    this.#rest = undefined;
  }
}
