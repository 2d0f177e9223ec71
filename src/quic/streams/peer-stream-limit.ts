import { GrantedLimit } from './granted-limit.ts';
import { STREAMS_AHEAD } from './limits.ts';

/** A new limit is sent for every quarter of what the peer may open at a time: losing one stalls nothing. */
const UPDATES = 4;

/** With no more than this part of it left, the peer gets a new limit however small the gain. */
const LOW = 1 / 8;

/**
 * How many streams of one kind the peer may open (RFC 9000 §4.6): `atOnce` may be open at the same time, and
 * the limit is never more than `STREAMS_AHEAD` beyond those that it has opened.
 */
export class PeerStreamLimit extends GrantedLimit {
  #atOnce: number;
  #opened = 0;
  #closed = 0;

  /** @param atOnce is announced in the transport parameters. */
  constructor(atOnce: number) {
    super(atOnce);
    this.#atOnce = atOnce;
  }

  /** Streams that the peer has opened so far: the index of the next one. */
  get opened(): number {
    return this.#opened;
  }

  /** A limit that does not rise is ignored by the peer (§4.6), so it never falls. */
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

  /** How many may be open at once. Limits that were announced cannot be taken back. */
  allow(atOnce: number): void {
    this.#atOnce = atOnce;
  }

  /** The next stream is opened. @returns its index. */
  open(): number {
    return this.#opened++;
  }

  /** A stream of the peer is closed. */
  close(): void {
    this.#closed++;
  }
}
