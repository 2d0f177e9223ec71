import { GrantedLimit } from './granted-limit.ts';
import { STREAMS_AHEAD } from './limits.ts';

/** Limits that are sent per number of streams that the peer may open at a time: losing one stalls nothing. */
const UPDATES = 4;

/** Remaining share of that number at which the peer gets a new limit however small the gain. */
const LOW = 1 / 8;

/**
 * Limits the streams of one kind that the peer may open (RFC 9000 §4.6): `atOnce` may be open at the same time, and
 * the limit is never more than `STREAMS_AHEAD` beyond those that it has opened.
 */
export class PeerStreamLimit extends GrantedLimit {
  #atOnce: number;
  #opened = 0;
  #closed = 0;

  /** @param atOnce the limit announced in the transport parameters. */
  constructor(atOnce: number) {
    super(atOnce);
    this.#atOnce = atOnce;
  }

  /** Streams that the peer has opened so far: the index of the next one. */
  get opened(): number {
    return this.#opened;
  }

  /** The next limit. The peer ignores one that does not rise (§4.6), so it never falls. */
  override get next(): number {
    const next = Math.min(this.#closed + this.#atOnce, this.#opened + STREAMS_AHEAD);
    return Math.max(next, this.announced);
  }

  /** Whether MAX_STREAMS is due. */
  get isUpdateDue(): boolean {
    if (this.isPending) return true;
    const gain = this.next - this.announced;
    if (gain === 0) return false;
    const most = Math.min(this.#atOnce, STREAMS_AHEAD);
    return gain >= most / UPDATES || this.announced - this.#opened <= most * LOW;
  }

  /** Sets the number of streams that may be open at once. Announced limits cannot be withdrawn. */
  allow(atOnce: number): void {
    this.#atOnce = atOnce;
  }

  /** Opens the next stream. @returns its index. */
  open(): number {
    return this.#opened++;
  }

  /** Called when a stream of the peer is closed. */
  close(): void {
    this.#closed++;
  }
}
