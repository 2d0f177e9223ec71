import { GrantedLimit } from './granted-limit.ts';
import { STREAMS_AHEAD } from './limits.ts';

/** A new limit is given for every quarter of what the peer may open at a time: its loss is no stall. */
const UPDATES = 4;

/** With so small a part of it left, the peer gets whatever there is. */
const LOW = 1 / 8;

/**
 * How many streams of one kind the peer may open (RFC 9000 §4.6): so many at once, and never more than
 * `STREAMS_AHEAD` beyond those that it has opened, because one frame opens all streams up to its own.
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

  /** It never falls (§4.6). */
  override get next(): number {
    const next = Math.min(this.#closed + this.#atOnce, this.#opened + STREAMS_AHEAD);
    return Math.max(next, this.announced);
  }

  /** Whether the peer should get a new limit by now. */
  get isUpdateDue(): boolean {
    if (this.isPending) return true;
    const gain = this.next - this.announced;
    if (gain === 0) return false;
    const most = Math.min(this.#atOnce, STREAMS_AHEAD);
    return gain >= most / UPDATES || this.announced - this.#opened <= most * LOW;
  }

  /** So many may be open at once from now on. What was announced cannot be taken back. */
  allow(atOnce: number): void {
    this.#atOnce = atOnce;
  }

  /** The next stream is opened. @returns its index. */
  open(): number {
    return this.#opened++;
  }

  /** One that was open is closed. */
  close(): void {
    this.#closed++;
  }
}
