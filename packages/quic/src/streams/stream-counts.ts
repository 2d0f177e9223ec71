import { GrantedLimit, SendCredit } from './flow-control.ts';
import { STREAMS_AHEAD } from '../limits.ts';
import {
  maxStreamsSize,
  streamsBlockedSize,
  writeMaxStreams,
  writeStreamsBlocked,
} from '../wire/frame-writers.ts';
import type { FrameLog } from '../recovery/delivery.ts';

/** Limits that are sent per number of streams that the peer may open at a time: losing one stalls nothing. */
const UPDATES = 4;

/** Remaining share of that number at which the peer gets a new limit however small the gain. */
const LOW = 1 / 8;

/**
 * Limits the streams of one kind that the peer may open (RFC 9000 §4.6): `atOnce` may be open at the same time, and
 * the limit is never more than `STREAMS_AHEAD` beyond those that it has opened.
 */
class PeerStreamLimit extends GrantedLimit {
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

/**
 * The streams of one kind that both sides have opened and may open (RFC 9000 §4.6), with the frames MAX_STREAMS and
 * STREAMS_BLOCKED.
 */
export class StreamCounts {
  readonly #isBidirectional: boolean;
  readonly #limit: PeerStreamLimit;
  readonly #credit = new SendCredit();
  /** Whether `openOwn` has been refused since the last limit. */
  #isWanted = false;
  #isPeerKnown = false;

  constructor(bidirectional: boolean, atOnce: number) {
    this.#isBidirectional = bidirectional;
    this.#limit = new PeerStreamLimit(atOnce);
  }

  // ---- streams of this side ----

  /** Number of streams that this side has opened. */
  get openedBySelf(): number {
    return this.#credit.used;
  }

  /** Returns the index of a new stream of this side; -1 while the peer allows no more. */
  openOwn(): number {
    if (this.#credit.available <= 0) {
      this.#isWanted = true;
      return -1;
    }
    const index = this.#credit.used;
    this.#credit.use(1);
    return index;
  }

  /** Handles a limit of the peer. Returns whether a stream that `openOwn` refused can be opened now. */
  raise(limit: number): boolean {
    this.#isPeerKnown = true;
    if (!this.#credit.raise(limit) || !this.#isWanted) return false;
    this.#isWanted = false;
    return true;
  }

  // ---- streams of the peer ----

  /** Number of streams that the peer has opened: the index of its next one. */
  get openedByPeer(): number {
    return this.#limit.opened;
  }

  /** Sets the number of the peer's streams that may be open at once. */
  allow(atOnce: number): void {
    this.#limit.allow(atOnce);
  }

  /** Whether the peer may open the stream of this index. */
  allowsPeer(index: number): boolean {
    return index < this.#limit.announced;
  }

  /** Opens the peer's next stream; returns its index. */
  openPeers(): number {
    return this.#limit.open();
  }

  /** Called when a stream of the peer has closed. */
  closedPeers(): void {
    this.#limit.close();
  }

  /** Handles STREAMS_BLOCKED (§19.14). */
  onPeerBlocked(limit: number): void {
    if (limit < this.#limit.next) this.#limit.request();
  }

  // ---- frames ----

  get hasFrames(): boolean {
    return this.#limit.isUpdateDue || this.#isBlockedDue();
  }

  /** Writes the frames that are due, as far as they fit. Returns the offset after them. */
  writeFrames(out: Uint8Array, at: number, limit: number, log: FrameLog): number {
    const credit = this.#credit;
    const own = this.#limit;
    let next = at;
    if (own.isUpdateDue && next + maxStreamsSize(own.next) <= limit && !log.isPacketFull) {
      next = writeMaxStreams(out, next, this.#isBidirectional, own.announce(log));
    }
    if (
      this.#isBlockedDue() &&
      next + streamsBlockedSize(credit.limit) <= limit &&
      !log.isPacketFull
    ) {
      next = writeStreamsBlocked(out, next, this.#isBidirectional, credit.reportBlocked(log));
    }
    return next;
  }

  #isBlockedDue(): boolean {
    return this.#isPeerKnown && this.#isWanted && this.#credit.isBlockedUnreported;
  }
}
