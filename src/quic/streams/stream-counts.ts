import {
  maxStreamsSize,
  streamsBlockedSize,
  writeMaxStreams,
  writeStreamsBlocked,
} from '../wire/frame-writers.ts';
import type { FrameLog } from '../recovery/delivery.ts';
import { SendCredit } from './flow-control.ts';
import { PeerStreamLimit } from './peer-stream-limit.ts';

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
