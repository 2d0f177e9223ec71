import type { ByteLink } from '../links/link.ts';
import { unlessAborted } from '../time/unless-aborted.ts';
import { UnitShare } from './unit-share.ts';

/**
 * Links of the process of which a read waits, each with its 64 KB. Beyond it reads are decoded as a whole, and the
 * turns of the sockets bound the work.
 */
const MOST_WAITING_READS = 512;
let waitingReads = 0;

/** Decodes the reads of one connection in pieces, each in a turn for which the connection has a share. */
export class ReadInPieces {
  readonly #share = new UnitShare();
  /** What is left of a read, and the turn in which it is decoded. */
  #rest: Uint8Array | undefined;
  #turn: Promise<void> | undefined;

  /** Whether `next` returns what is decoded next, and not a read of the link below. */
  get isWaiting(): boolean {
    return this.#rest !== undefined || this.#turn !== undefined;
  }

  get hasRest(): boolean {
    return this.#rest !== undefined;
  }

  /** Whether part of a read may be kept. */
  get mayKeep(): boolean {
    return waitingReads < MOST_WAITING_READS;
  }

  /** Waits for its turn, then returns what is left of the last read, or a read of `link`. */
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

  /** Keeps what is left of a read for `next`; `undefined` drops it. */
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
