import { QuicError, TransportErrorCode } from '../errors.ts';
import { ChurnMap, type Fifo } from '@weir/base/collections';
import type { FrameLog } from '../recovery/delivery.ts';
import {
  type ConnectionReceiveWindow,
  type Pace,
  GrantedLimit,
  SendCredit,
} from './flow-control.ts';
import type { PeerGrants, StreamGrants } from './grants.ts';
import { ReceiveStream } from './receive-stream.ts';
import type { Scheduler } from './scheduler.ts';
import { SendStream, type QueuedBytes } from './send-stream.ts';
import {
  indexOf,
  isOpenedBy,
  kindOf,
  Stream,
  type StreamEvent,
  streamId,
  type StreamOwner,
} from './stream.ts';
import type { Role } from '../contract.ts';
import { STREAMS_AHEAD } from '../limits.ts';
import { FrameType } from '../wire/frame-types.ts';
import { numberSize, writeNumber } from '../wire/frame-writers.ts';

const { STREAM_LIMIT_ERROR, STREAM_STATE_ERROR } = TransportErrorCode;

/** The parts that the streams of a connection share. */
interface OpenStreamsParts {
  readonly side: Role;
  readonly grants: StreamGrants;
  readonly pace: Pace;
  readonly receiveWindow: ConnectionReceiveWindow;
  readonly scheduler: Scheduler;
  readonly events: Fifo<StreamEvent>;
}

/** The streams of a connection by their ids. Closed ones are recognized by their index. */
export class OpenStreams implements StreamOwner {
  readonly #parts: OpenStreamsParts;
  readonly #peerSide: Role;
  readonly #streams = new ChurnMap<number, Stream>();
  readonly #queued: QueuedBytes = { total: 0 };
  /** The counts of bidirectional streams, then of unidirectional ones. */
  readonly #counts: readonly [StreamCounts, StreamCounts];
  #peerGrants: PeerGrants | undefined;

  constructor(parts: OpenStreamsParts) {
    const { side, grants } = parts;
    this.#parts = parts;
    this.#peerSide = side === 'client' ? 'server' : 'client';
    this.#counts = [
      new StreamCounts(true, grants.bidirectionalStreams),
      new StreamCounts(false, grants.unidirectionalStreams),
    ];
  }

  /** Number of streams that are not closed. */
  get size(): number {
    return this.#streams.size;
  }

  /** Whether MAX_STREAMS or STREAMS_BLOCKED is due. */
  get hasCountFrames(): boolean {
    return this.#counts[0].hasFrames || this.#counts[1].hasFrames;
  }

  /** Writes MAX_STREAMS and STREAMS_BLOCKED, as far as they are due and fit. Returns the offset after them. */
  writeCountFrames(out: Uint8Array, at: number, limit: number, log: FrameLog): number {
    const next = this.#counts[0].writeFrames(out, at, limit, log);
    return this.#counts[1].writeFrames(out, next, limit, log);
  }

  countsOf(bidirectional: boolean): StreamCounts {
    return this.#counts[bidirectional ? 0 : 1];
  }

  /** Sets the peer's limits for streams that are opened afterwards. */
  setPeerGrants(grants: PeerGrants): void {
    this.#peerGrants = grants;
  }

  /** Returns the stream of an id; `undefined` for one that is closed or was never opened. */
  get(id: number): Stream | undefined {
    return this.#streams.get(id);
  }

  /** Opens a stream of this side; `undefined` while the peer allows no more. */
  open(bidirectional: boolean): number | undefined {
    const index = this.countsOf(bidirectional).openOwn();
    if (index < 0) return undefined;
    const id = streamId(this.#parts.side, bidirectional ? 0 : 1, index);
    this.#create(id);
    return id;
  }

  /**
   * Returns the stream of a frame for the receiving part, which the frame may open; `undefined` for a closed one.
   * STREAM_STATE_ERROR for a stream that only this side sends on (§19.8).
   */
  receiving(id: number, frameType: number): Stream | QuicError | undefined {
    if (kindOf(id) === 1 && isOpenedBy(this.#parts.side, id)) {
      return new QuicError(STREAM_STATE_ERROR, 'the stream is for this side to send', frameType);
    }
    return this.#streams.get(id) ?? this.#openedBy(id, frameType);
  }

  /**
   * Returns the stream of a frame for the sending part (§19.5, §19.10), which the frame may open; `undefined` for a
   * closed one. STREAM_STATE_ERROR for a stream that only the peer sends on.
   */
  sending(id: number, frameType: number): Stream | QuicError | undefined {
    if (kindOf(id) === 1 && !isOpenedBy(this.#parts.side, id)) {
      return new QuicError(STREAM_STATE_ERROR, 'the stream is for the peer to send', frameType);
    }
    return this.#streams.get(id) ?? this.#openedBy(id, frameType);
  }

  settle(stream: Stream): void {
    const { side, scheduler, events } = this.#parts;
    if (!stream.isDone) {
      scheduler.update(stream);
      return;
    }
    if (!this.#streams.delete(stream.id)) return;
    events.push({ kind: 'stream-closed', id: stream.id });
    if (!isOpenedBy(side, stream.id)) this.#counts[kindOf(stream.id)].closedOfPeer++;
  }

  /** Returns the stream that a frame with an unknown id opens. */
  #openedBy(id: number, frameType: number): Stream | QuicError | undefined {
    const kind = kindOf(id);
    const counts = this.#counts[kind];
    if (isOpenedBy(this.#parts.side, id)) {
      if (indexOf(id) < counts.openedBySelf) return undefined;
      return new QuicError(STREAM_STATE_ERROR, 'a stream that was never opened', frameType);
    }
    if (indexOf(id) < counts.openedByPeer) return undefined;
    if (indexOf(id) >= counts.announced) {
      return new QuicError(STREAM_LIMIT_ERROR, 'more streams than the limit allows', frameType);
    }
    // A stream opens all streams of its kind with lower ids (RFC 9000 §3.2).
    while (counts.openedByPeer <= indexOf(id)) {
      const opened = streamId(this.#peerSide, kind, counts.openedByPeer++);
      this.#create(opened);
      this.#parts.events.push({ kind: 'stream-opened', id: opened });
    }
    return this.#streams.get(id);
  }

  #create(id: number): void {
    const { side, grants, receiveWindow, pace } = this.#parts;
    const isOwn = isOpenedBy(side, id);
    const isUnidirectional = kindOf(id) === 1;
    const stream = new Stream(id, this);
    if (!isUnidirectional || isOwn) {
      stream.send = new SendStream(id, this.#initialLimit(id), this.#queued, stream);
    }
    if (!isUnidirectional || !isOwn) {
      stream.receive = new ReceiveStream(grants, receiveWindow, pace, stream);
    }
    this.#streams.set(id, stream);
  }

  /** Returns the peer's limit for a new stream. Its "local" streams are those that it opens (§18.2). */
  #initialLimit(id: number): number {
    const grants = this.#peerGrants;
    if (!grants) return 0;
    if (kindOf(id) === 1) return grants.initialMaxStreamDataUni;
    return isOpenedBy(this.#parts.side, id)
      ? grants.initialMaxStreamDataBidiRemote
      : grants.initialMaxStreamDataBidiLocal;
  }
}

/** Limits that are sent per number of streams that the peer may open at a time: losing one stalls nothing. */
const UPDATES = 4;

/** Remaining share of that number at which the peer gets a new limit however small the gain. */
const LOW = 1 / 8;

/**
 * The streams of one kind that both sides have opened and may open (RFC 9000 §4.6), with the frames MAX_STREAMS and
 * STREAMS_BLOCKED. The peer may have `atOnce` streams open at the same time, and its limit is never more than
 * `STREAMS_AHEAD` beyond those that it has opened.
 */
class StreamCounts extends GrantedLimit {
  readonly #isBidirectional: boolean;
  /** Number of the peer's streams that may be open at once. Announced limits cannot be withdrawn. */
  atOnce: number;
  /** Number of streams that the peer has opened: the index of its next one. */
  openedByPeer = 0;
  /** Number of streams of the peer that have closed. */
  closedOfPeer = 0;
  readonly #credit = new SendCredit();
  /** Whether `openOwn` has been refused since the last limit. */
  #isWanted = false;
  #isPeerKnown = false;

  /** @param atOnce the limit announced in the transport parameters. */
  constructor(bidirectional: boolean, atOnce: number) {
    super(atOnce);
    this.#isBidirectional = bidirectional;
    this.atOnce = atOnce;
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

  /** The next limit. The peer ignores one that does not rise (§4.6), so it never falls. */
  override get next(): number {
    const next = Math.min(this.closedOfPeer + this.atOnce, this.openedByPeer + STREAMS_AHEAD);
    return Math.max(next, this.announced);
  }

  /** Whether MAX_STREAMS is due. */
  get #isUpdateDue(): boolean {
    if (this.isPending) return true;
    const gain = this.next - this.announced;
    if (gain === 0) return false;
    const most = Math.min(this.atOnce, STREAMS_AHEAD);
    return gain >= most / UPDATES || this.announced - this.openedByPeer <= most * LOW;
  }

  /** Handles STREAMS_BLOCKED (§19.14). */
  onPeerBlocked(limit: number): void {
    if (limit < this.next) this.request();
  }

  // ---- frames ----

  get hasFrames(): boolean {
    return this.#isUpdateDue || this.#isBlockedDue;
  }

  /** Writes the frames that are due, as far as they fit. Returns the offset after them. */
  writeFrames(out: Uint8Array, at: number, limit: number, log: FrameLog): number {
    const credit = this.#credit;
    const isBidirectional = this.#isBidirectional;
    let next = at;
    if (this.#isUpdateDue && next + numberSize(this.next) <= limit && !log.isPacketFull) {
      const { MAX_STREAMS_BIDIRECTIONAL, MAX_STREAMS_UNIDIRECTIONAL } = FrameType;
      const type = isBidirectional ? MAX_STREAMS_BIDIRECTIONAL : MAX_STREAMS_UNIDIRECTIONAL;
      next = writeNumber(out, next, type, this.announce(log));
    }
    if (this.#isBlockedDue && next + numberSize(credit.limit) <= limit && !log.isPacketFull) {
      const { STREAMS_BLOCKED_BIDIRECTIONAL, STREAMS_BLOCKED_UNIDIRECTIONAL } = FrameType;
      const type = isBidirectional ? STREAMS_BLOCKED_BIDIRECTIONAL : STREAMS_BLOCKED_UNIDIRECTIONAL;
      next = writeNumber(out, next, type, credit.reportBlocked(log));
    }
    return next;
  }

  get #isBlockedDue(): boolean {
    return this.#isPeerKnown && this.#isWanted && this.#credit.isBlockedUnreported;
  }
}
