import type { ByteLink } from '../links/link.ts';
import { unlessAborted } from '../time/unless-aborted.ts';
import { UnitShare } from './unit-share.ts';

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
