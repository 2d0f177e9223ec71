import {
  maxStreamsSize,
  streamsBlockedSize,
  writeMaxStreams,
  writeStreamsBlocked,
} from '../wire/frame-writers.ts';
import type { StreamFrameNotes } from './control-frames.ts';
import { type Pace, ReceiveWindow, SendCredit } from './flow-control.ts';

/**
 * How many streams of one kind both sides have opened and may open (RFC 9000 §4.6), and the frames
 * about it: MAX_STREAMS, STREAMS_BLOCKED.
 */
export class StreamCounts {
  readonly #isBidirectional: boolean;
  /** What the peer may open, in streams; every one that closes makes room for another. */
  readonly #window: ReceiveWindow;
  readonly #credit = new SendCredit();
  #openedByPeer = 0;
  /** Whether `openOwn` has been refused since the last limit. */
  #isWanted = false;
  #isPeerKnown = false;

  constructor(bidirectional: boolean, limit: number, pace: Pace) {
    this.#isBidirectional = bidirectional;
    this.#window = new ReceiveWindow(limit, limit, pace);
  }

  // ---- streams of this side ----

  /** How many this side has opened. */
  get openedBySelf(): number {
    return this.#credit.used;
  }

  /** The index of a new stream of this side; -1 while the peer allows no more. */
  openOwn(): number {
    if (this.#credit.available <= 0) {
      this.#isWanted = true;
      return -1;
    }
    const index = this.#credit.used;
    this.#credit.use(1);
    return index;
  }

  /** Takes a limit of the peer. Returns whether streams that were refused can be opened now. */
  raise(limit: number): boolean {
    this.#isPeerKnown = true;
    if (!this.#credit.raise(limit) || !this.#isWanted) return false;
    this.#isWanted = false;
    return true;
  }

  /** STREAMS_BLOCKED was lost. */
  blockedLost(limit: number): void {
    this.#credit.blockedLost(limit);
  }

  // ---- streams of the peer ----

  /** How many the peer has opened: the index of its next one. */
  get openedByPeer(): number {
    return this.#openedByPeer;
  }

  /** Whether the peer may open the stream of this index. */
  allowsPeer(index: number): boolean {
    return index < this.#window.announced;
  }

  /** The index of the stream that the peer opens next. */
  openPeers(): number {
    return this.#openedByPeer++;
  }

  /** A stream of the peer has closed. */
  closedPeers(): void {
    this.#window.release(1);
  }

  /** STREAMS_BLOCKED (§19.14). */
  onPeerBlocked(limit: number): void {
    if (limit < this.#window.next) this.#window.request();
  }

  /** MAX_STREAMS was lost. */
  limitLost(limit: number): void {
    this.#window.lost(limit);
  }

  // ---- frames ----

  get hasFrames(): boolean {
    return this.#isLimitDue || this.#isBlockedDue;
  }

  /** Writes what is due, as far as it fits. Returns the offset behind it. */
  writeFrames(out: Uint8Array, at: number, limit: number, carried: StreamFrameNotes): number {
    const credit = this.#credit;
    const window = this.#window;
    let next = at;
    if (this.#isLimitDue && next + maxStreamsSize(window.next) <= limit && !carried.isPacketFull) {
      const granted = window.announce();
      next = writeMaxStreams(out, next, this.#isBidirectional, granted);
      carried.maxStreams(this.#isBidirectional, granted);
    }
    if (
      this.#isBlockedDue &&
      next + streamsBlockedSize(credit.limit) <= limit &&
      !carried.isPacketFull
    ) {
      const blockedAt = credit.reportBlocked();
      next = writeStreamsBlocked(out, next, this.#isBidirectional, blockedAt);
      carried.streamsBlocked(this.#isBidirectional, blockedAt);
    }
    return next;
  }

  /** Whether MAX_STREAMS is due: earlier when the peer can open only few more. */
  get #isLimitDue(): boolean {
    return this.#window.isUpdateDue(this.#openedByPeer, this.#window.size / 8);
  }

  get #isBlockedDue(): boolean {
    return this.#isPeerKnown && this.#isWanted && this.#credit.isBlockedUnreported;
  }
}
