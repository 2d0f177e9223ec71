import type { ByteLink } from '../links/link.ts';
import { asSole, copyOf, isSole } from '../links/spent-chunk.ts';
import { unlessAborted } from '../time/unless-aborted.ts';
import { UnitShare } from './unit-share.ts';

/** Bytes of a read that are decoded at once while its units are small: about a hundred of them. */
export const SMALL_PIECE = 4 << 10;
/** Bytes per unit of an ordinary stream; bulk data has fewer units. */
const BYTES_A_UNIT = 512;
/**
 * The reads of a connection of sealed units, such as AEAD chunks or TLS records. A read of 64 KB has four of them, or
 * 2,800 with a byte in each, which cost fifty times as much. While units are small, a read is decoded in pieces, and
 * units beyond one per `BYTES_A_UNIT` count in the share of a turn. Large units cost nothing here.
 */
export class SmallUnits {
  readonly #cost: number;
  readonly #pieces = new ReadInPieces();
  /** Whether units have to be assumed small: until bulk data shows otherwise. */
  #areSmall = true;

  /** @param cost the cost of a unit, see `UnitCost`. */
  constructor(cost: number) {
    this.#cost = cost;
  }

  /** Whether `next` returns the rest of a read, rather than a read of the link below. */
  get isWaiting(): boolean {
    return this.#pieces.isWaiting;
  }

  /** Waits for its turn, then returns the rest of the last read, or a read of `link`. */
  next(
    link: Pick<ByteLink, 'read'>,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array | undefined> {
    return this.#pieces.next(link, signal);
  }

  /** Returns the part of a read that is decoded now; the rest is returned by `next`. */
  cut<Bytes extends Uint8Array | undefined>(bytes: Bytes): Bytes | Uint8Array {
    if (!bytes || !this.#areSmall || bytes.length <= SMALL_PIECE) return bytes;
    if (!this.#pieces.mayKeep) return bytes;
    const rest = bytes.subarray(SMALL_PIECE);
    // The piece is a copy, so that the rest can be freed with the memory of the read.
    this.#pieces.keep(isSole(bytes) ? asSole(rest) : rest);
    return copyOf(bytes.subarray(0, SMALL_PIECE));
  }

  /** Counts the units that `bytes` bytes have completed. */
  count(units: number, bytes: number): void {
    // An ordinary read completes one unit.
    const excess = units - 1 - Math.floor(bytes / BYTES_A_UNIT);
    if (excess > 0) {
      this.#areSmall = true;
      this.#pieces.count(excess * this.#cost);
    } else if (bytes >= SMALL_PIECE) {
      this.#areSmall = false;
    }
  }

  /** Drops the rest of a read. */
  release(): void {
    this.#pieces.keep(undefined);
  }
}

/**
 * Links of the process that may keep part of a read, 64 KB each. Beyond this bound reads are decoded as a whole, and
 * the share of each socket in a turn limits the work.
 */
const MOST_WAITING_READS = 512;
let waitingReads = 0;

/** Decodes the reads of one connection in pieces, each in a turn for which the connection has a share. */
export class ReadInPieces {
  readonly #share = new UnitShare();
  /** The undecoded rest of a read. */
  #rest: Uint8Array | undefined;
  #turn: Promise<void> | undefined;

  /** Whether `next` returns the rest of a read, rather than a read of the link below. */
  get isWaiting(): boolean {
    return this.#rest !== undefined || this.#turn !== undefined;
  }

  get hasRest(): boolean {
    return this.#rest !== undefined;
  }

  /** Whether the rest of a read may be kept. */
  get mayKeep(): boolean {
    return waitingReads < MOST_WAITING_READS;
  }

  /** Waits for its turn, then returns the rest of the last read, or a read of `link`. */
  async next(
    link: Pick<ByteLink, 'read'>,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array | undefined> {
    if (this.#turn) await unlessAborted(this.#turn, signal);
    this.#turn = undefined;
    const rest = this.#rest;
    this.keep(undefined);
    return rest ?? link.read(signal);
  }

  /** Keeps the rest of a read for `next`; `undefined` drops it. */
  keep(rest: Uint8Array | undefined): void {
    if (this.#rest) waitingReads--;
    if (rest) waitingReads++;
    this.#rest = rest;
  }

  /** Counts what has been decoded, see `UnitCost`; `next` waits when the share of this turn is used up. */
  count(cost: number): void {
    this.#turn = this.#share.take(cost);
  }
}
