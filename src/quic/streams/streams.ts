import { QuicError, TransportErrorCode } from '../errors.ts';
import {
  dataBlockedSize,
  maxDataSize,
  maxStreamsSize,
  streamsBlockedSize,
  writeDataBlocked,
  writeMaxData,
  writeMaxStreams,
  writeStreamsBlocked,
} from '../wire/frame-writers.ts';
import { FrameType } from '../wire/frame-types.ts';
import type { Verdict } from '../wire/frame-visitor.ts';
import type { TransportParameters } from '../wire/transport-parameters.ts';
import type { StreamFrameNotes } from './control-frames.ts';
import { Fifo } from './fifo.ts';
import { ConnectionReceiveWindow, type Pace, SendCredit } from './flow-control.ts';
import {
  INITIAL_CONNECTION_WINDOW,
  INITIAL_STREAM_WINDOW,
  MAX_BIDIRECTIONAL_STREAMS,
  MAX_CONNECTION_WINDOW,
  MAX_STREAM_WINDOW,
  MAX_UNIDIRECTIONAL_STREAMS,
} from './limits.ts';
import { PeerStreamLimit } from './peer-stream-limit.ts';
import { type END_OF_STREAM, ReceiveStream } from './receive-stream.ts';
import { Scheduler } from './scheduler.ts';
import { SendStream } from './send-stream.ts';
import { Stream } from './stream.ts';
import type { StreamEvent } from './stream-events.ts';
import { indexOf, isOpenedBy, type Kind, kindOf, type Side, streamId } from './stream-ids.ts';

export { END_OF_STREAM } from './receive-stream.ts';
export type { StreamFrameNotes } from './control-frames.ts';

/** What this side grants the peer: goes into its transport parameters (RFC 9000 §18.2). */
export interface StreamGrants {
  /** Bytes on all streams together: initial_max_data. */
  readonly connectionWindow: number;
  readonly maxConnectionWindow: number;
  /** Bytes on one stream, of every kind: initial_max_stream_data_*. */
  readonly streamWindow: number;
  readonly maxStreamWindow: number;
  /** Streams of the peer that may be open at once: initial_max_streams_*. */
  readonly bidirectionalStreams: number;
  readonly unidirectionalStreams: number;
}

export const DEFAULT_STREAM_GRANTS: StreamGrants = {
  connectionWindow: INITIAL_CONNECTION_WINDOW,
  maxConnectionWindow: MAX_CONNECTION_WINDOW,
  streamWindow: INITIAL_STREAM_WINDOW,
  maxStreamWindow: MAX_STREAM_WINDOW,
  bidirectionalStreams: MAX_BIDIRECTIONAL_STREAMS,
  unidirectionalStreams: MAX_UNIDIRECTIONAL_STREAMS,
};

/** What the peer grants: these of its transport parameters. */
export type PeerGrants = Pick<
  TransportParameters,
  | 'initialMaxData'
  | 'initialMaxStreamDataBidiLocal'
  | 'initialMaxStreamDataBidiRemote'
  | 'initialMaxStreamDataUni'
  | 'initialMaxStreamsBidi'
  | 'initialMaxStreamsUni'
>;

const { STREAM_LIMIT_ERROR, STREAM_STATE_ERROR } = TransportErrorCode;
const KINDS: readonly Kind[] = [0, 1];

/** Streams of one kind that this side opens. */
interface OwnStreams {
  /** In streams. */
  readonly credit: SendCredit;
  /** Whether `open` has been refused since the last limit. */
  isWanted: boolean;
}

const ownStreams = (): OwnStreams => ({ credit: new SendCredit(), isWanted: false });

/**
 * The streams of a connection (RFC 9000 §2 to §4): ids, states, limits, flow control, and the frames
 * for all of it. Nothing waits for a time; see `setPace`. The application's calls for ids that are unknown or forgotten
 * do nothing.
 */
export class Streams {
  readonly #side: Side;
  readonly #grants: StreamGrants;
  readonly #pace: Pace = { now: 0, roundTrip: Infinity };
  /** Streams that are not closed; closed ones are known by their index alone. */
  readonly #streams = new Map<number, Stream>();
  /** Of the peer's streams. */
  readonly #limits: readonly [PeerStreamLimit, PeerStreamLimit];
  readonly #own: readonly [OwnStreams, OwnStreams] = [ownStreams(), ownStreams()];
  readonly #receiveWindow: ConnectionReceiveWindow;
  readonly #credit = new SendCredit();
  readonly #scheduler = new Scheduler(this.#credit, (stream) => {
    this.#events.push({ kind: 'stream-writable', id: stream.id });
  });
  readonly #events = new Fifo<StreamEvent>();
  #peerGrants: PeerGrants | undefined;

  constructor(side: Side, grants: StreamGrants = DEFAULT_STREAM_GRANTS) {
    this.#side = side;
    this.#grants = grants;
    this.#limits = [
      new PeerStreamLimit(grants.bidirectionalStreams),
      new PeerStreamLimit(grants.unidirectionalStreams),
    ];
    this.#receiveWindow = new ConnectionReceiveWindow(
      grants.connectionWindow,
      grants.maxConnectionWindow,
      this.#pace,
    );
  }

  /** The peer's transport parameters have arrived. Before, nothing can be opened or sent. */
  setPeerGrants(grants: PeerGrants): void {
    this.#peerGrants = grants;
    this.maxData(grants.initialMaxData);
    this.maxStreams(true, grants.initialMaxStreamsBidi);
    this.maxStreams(false, grants.initialMaxStreamsUni);
  }

  /**
   * Brings along the time and the smoothed round trip, both in milliseconds: before the packets of a
   * datagram are handed in, or once for a batch. The windows grow by them; without, they grow with
   * whatever is consumed.
   */
  setPace(now: number, roundTrip: number): void {
    this.#pace.now = now;
    this.#pace.roundTrip = roundTrip;
  }

  // ---- the application's calls ----

  /** Opens a stream; `undefined` while the peer allows no more: then `streams-available` follows. */
  open(bidirectional: boolean): number | undefined {
    const kind = bidirectional ? 0 : 1;
    const own = this.#own[kind];
    if (own.credit.available <= 0) {
      own.isWanted = true;
      return undefined;
    }
    const id = streamId(this.#side, kind, own.credit.used);
    own.credit.use(1);
    this.#create(id);
    return id;
  }

  /** How many bidirectional streams of the peer may be open at once from now on. */
  allowStreams(atOnce: number): void {
    this.#limits[0].allow(atOnce);
  }

  /**
   * Queues a chunk, which must no longer be changed. False asks the caller to wait for
   * `stream-writable`; the chunk is queued nevertheless. `undefined` when the stream takes nothing:
   * finished, reset, stopped or forgotten.
   */
  write(id: number, chunk: Uint8Array): boolean | undefined {
    const stream = this.#streams.get(id);
    if (!stream?.send?.isOpen) return undefined;
    const mayContinue = stream.send.write(chunk);
    this.#scheduler.update(stream);
    return mayContinue;
  }

  /** Bytes queued and not sent yet. */
  queued(id: number): number {
    return this.#streams.get(id)?.send?.queued ?? 0;
  }

  /** Ends what this side sends, after what is queued. Idempotent. */
  finish(id: number): void {
    const stream = this.#streams.get(id);
    if (!stream?.send) return;
    stream.send.finish();
    this.#scheduler.update(stream);
  }

  /** Ends what this side sends with RESET_STREAM and drops what is queued. Idempotent. */
  reset(id: number, code: number): void {
    const stream = this.#streams.get(id);
    if (stream?.send?.reset(code)) this.#scheduler.update(stream);
  }

  /**
   * The next bytes, which the caller then owns; `END_OF_STREAM`, or `undefined` when there is nothing
   * now (or the stream was reset, stopped or forgotten). Reading grants the peer more.
   */
  read(id: number): Uint8Array | typeof END_OF_STREAM | undefined {
    const stream = this.#streams.get(id);
    if (!stream?.receive) return undefined;
    const chunk = stream.receive.read();
    if (chunk === undefined) stream.isReaderWaiting = true;
    this.#settle(stream);
    return chunk;
  }

  /** Discards what the peer sends from now on, and requests its end with STOP_SENDING. Idempotent. */
  stopSending(id: number, code: number): void {
    const stream = this.#streams.get(id);
    if (!stream?.receive) return;
    stream.receive.stop(code);
    this.#settle(stream);
  }

  /** The next thing that happened. */
  nextEvent(): StreamEvent | undefined {
    for (let event = this.#events.shift(); event; event = this.#events.shift()) {
      if (event.kind === 'stream-readable' || event.kind === 'stream-reset') {
        const stream = this.#streams.get(event.id);
        if (!stream?.receive) continue;
        // What was read or dropped since then is no news.
        if (event.kind === 'stream-readable') {
          if (!stream.receive.isReadable) {
            stream.isReaderWaiting = true;
            continue;
          }
        } else {
          stream.receive.acknowledgeReset();
          this.#settle(stream);
        }
      }
      return event;
    }
    return undefined;
  }

  /** Streams that are not forgotten yet. */
  get size(): number {
    return this.#streams.size;
  }

  /** Received bytes that were not read, with the gaps between them. */
  get unread(): number {
    return this.#receiveWindow.unread;
  }

  // ---- frames of the peer ----

  /** STREAM (§19.8). */
  stream(
    id: number,
    offset: number,
    bytes: Uint8Array,
    at: number,
    size: number,
    fin: boolean,
  ): Verdict {
    const stream = this.#receiving(id, FrameType.STREAM);
    if (stream instanceof QuicError) return stream;
    if (!stream?.receive) return undefined;
    const error = stream.receive.receive(offset, bytes, at, size, fin);
    if (error) return error;
    if (stream.isReaderWaiting && stream.receive.isReadable) {
      stream.isReaderWaiting = false;
      this.#events.push({ kind: 'stream-readable', id });
    }
    if (fin) this.#settle(stream);
    return undefined;
  }

  /** RESET_STREAM (§19.4). */
  resetStream(id: number, code: number, finalSize: number): Verdict {
    const stream = this.#receiving(id, FrameType.RESET_STREAM);
    if (stream instanceof QuicError) return stream;
    if (!stream?.receive) return undefined;
    const { receive } = stream;
    const before = receive.state;
    const error = receive.reset(code, finalSize);
    if (error) return error;
    if (before !== receive.state && !receive.isDone) {
      this.#events.push({ kind: 'stream-reset', id, code });
    }
    this.#settle(stream);
    return undefined;
  }

  /** STOP_SENDING (§19.5), which is answered with RESET_STREAM (§3.5). */
  stopSendingReceived(id: number, code: number): Verdict {
    const stream = this.#sending(id, FrameType.STOP_SENDING);
    if (stream instanceof QuicError) return stream;
    if (!stream?.send?.reset(code)) return undefined;
    this.#events.push({ kind: 'stream-stopped', id, code });
    this.#scheduler.update(stream);
    return undefined;
  }

  /** MAX_DATA (§19.9). */
  maxData(limit: number): Verdict {
    this.#credit.raise(limit);
    return undefined;
  }

  /** MAX_STREAM_DATA (§19.10). */
  maxStreamData(id: number, limit: number): Verdict {
    const stream = this.#sending(id, FrameType.MAX_STREAM_DATA);
    if (stream instanceof QuicError) return stream;
    if (stream?.send?.raiseLimit(limit)) this.#scheduler.update(stream);
    return undefined;
  }

  /** MAX_STREAMS (§19.11). */
  maxStreams(bidirectional: boolean, limit: number): Verdict {
    const own = this.#own[bidirectional ? 0 : 1];
    if (own.credit.raise(limit) && own.isWanted) {
      own.isWanted = false;
      this.#events.push({ kind: 'streams-available', bidirectional });
    }
    return undefined;
  }

  /** DATA_BLOCKED (§19.12). */
  dataBlocked(limit: number): Verdict {
    if (limit < this.#receiveWindow.next) this.#receiveWindow.request();
    return undefined;
  }

  /** STREAM_DATA_BLOCKED (§19.13). */
  streamDataBlocked(id: number, limit: number): Verdict {
    const stream = this.#receiving(id, FrameType.STREAM_DATA_BLOCKED);
    if (stream instanceof QuicError) return stream;
    if (!stream?.receive || limit >= stream.receive.nextLimit) return undefined;
    stream.receive.requestLimit();
    this.#scheduler.update(stream);
    return undefined;
  }

  /** STREAMS_BLOCKED (§19.14). */
  streamsBlocked(bidirectional: boolean, limit: number): Verdict {
    const own = this.#limits[bidirectional ? 0 : 1];
    if (limit < own.next) own.request();
    return undefined;
  }

  // ---- frames to the peer ----

  /** Whether `writeFrames` would write something into an empty packet. */
  get hasFrames(): boolean {
    return this.hasControlFrames || this.#scheduler.hasData;
  }

  /** Whether anything but stream data is due. */
  get hasControlFrames(): boolean {
    if (this.#receiveWindow.isUpdateDue || this.#isBlockedDue) return true;
    for (const kind of KINDS) {
      if (this.#limits[kind].isUpdateDue || this.#isOpeningBlockedDue(kind)) return true;
    }
    return this.#scheduler.hasControl;
  }

  /**
   * Writes what is due between `at` and `limit`: control frames, lost ranges, new data of the stream
   * whose turn it is. Returns the offset behind it; `at` when nothing fitted.
   */
  writeFrames(out: Uint8Array, at: number, limit: number, carried: StreamFrameNotes): number {
    let next = this.#writeConnectionControl(out, at, limit, carried);
    next = this.#scheduler.writeControl(out, next, limit, carried);
    return this.#scheduler.writeData(out, next, limit, carried);
  }

  // ---- what became of the frames that a packet carried ----

  streamAcknowledged(id: number, offset: number, size: number, fin: boolean): void {
    const stream = this.#streams.get(id);
    if (!stream?.send) return;
    stream.send.acknowledged(offset, size, fin);
    if (stream.send.isDone) this.#settle(stream);
  }

  streamLost(id: number, offset: number, size: number, fin: boolean): void {
    const stream = this.#streams.get(id);
    if (!stream?.send) return;
    stream.send.lost(offset, size, fin);
    this.#scheduler.update(stream);
  }

  resetStreamAcknowledged(id: number): void {
    const stream = this.#streams.get(id);
    if (!stream?.send) return;
    stream.send.resetAcknowledged();
    this.#settle(stream);
  }

  resetStreamLost(id: number): void {
    const stream = this.#streams.get(id);
    if (!stream?.send) return;
    stream.send.resetLost();
    this.#scheduler.update(stream);
  }

  stopSendingLost(id: number): void {
    const stream = this.#streams.get(id);
    if (!stream?.receive) return;
    stream.receive.stopLost();
    this.#scheduler.update(stream);
  }

  maxDataLost(limit: number): void {
    this.#receiveWindow.lost(limit);
  }

  maxStreamDataLost(id: number, limit: number): void {
    const stream = this.#streams.get(id);
    if (!stream?.receive) return;
    stream.receive.limitLost(limit);
    this.#scheduler.update(stream);
  }

  maxStreamsLost(bidirectional: boolean, limit: number): void {
    this.#limits[bidirectional ? 0 : 1].lost(limit);
  }

  dataBlockedLost(limit: number): void {
    this.#credit.blockedLost(limit);
  }

  streamDataBlockedLost(id: number, limit: number): void {
    const stream = this.#streams.get(id);
    if (!stream?.send) return;
    stream.send.blockedLost(limit);
    this.#scheduler.update(stream);
  }

  streamsBlockedLost(bidirectional: boolean, limit: number): void {
    this.#own[bidirectional ? 0 : 1].credit.blockedLost(limit);
  }

  // ---- the table ----

  #create(id: number): Stream {
    const grants = this.#grants;
    const isOwn = isOpenedBy(this.#side, id);
    const isUnidirectional = kindOf(id) === 1;
    const stream = new Stream(
      id,
      isUnidirectional && !isOwn ? undefined : new SendStream(id, this.#initialLimit(id)),
      isUnidirectional && isOwn
        ? undefined
        : new ReceiveStream(
            grants.streamWindow,
            grants.maxStreamWindow,
            this.#receiveWindow,
            this.#pace,
          ),
    );
    this.#streams.set(id, stream);
    return stream;
  }

  /** What the peer allows on a new stream. Its "local" streams are those that it opens. */
  #initialLimit(id: number): number {
    const grants = this.#peerGrants;
    if (!grants) return 0;
    if (kindOf(id) === 1) return grants.initialMaxStreamDataUni;
    return isOpenedBy(this.#side, id)
      ? grants.initialMaxStreamDataBidiRemote
      : grants.initialMaxStreamDataBidiLocal;
  }

  /** The stream of a frame about what the peer sends; `undefined` for a closed one. */
  #receiving(id: number, frameType: number): Stream | QuicError | undefined {
    if (kindOf(id) === 1 && isOpenedBy(this.#side, id)) {
      return new QuicError(STREAM_STATE_ERROR, 'the stream is for this side to send', frameType);
    }
    return this.#streamOf(id, frameType);
  }

  /** The stream of a frame about what this side sends; `undefined` for a closed one. */
  #sending(id: number, frameType: number): Stream | QuicError | undefined {
    if (kindOf(id) === 1 && !isOpenedBy(this.#side, id)) {
      return new QuicError(STREAM_STATE_ERROR, 'the stream is for the peer to send', frameType);
    }
    return this.#streamOf(id, frameType);
  }

  #streamOf(id: number, frameType: number): Stream | QuicError | undefined {
    const known = this.#streams.get(id);
    if (known) return known;
    const kind = kindOf(id);
    if (isOpenedBy(this.#side, id)) {
      if (indexOf(id) < this.#own[kind].credit.used) return undefined;
      return new QuicError(STREAM_STATE_ERROR, 'a stream that was never opened', frameType);
    }
    const limit = this.#limits[kind];
    if (indexOf(id) < limit.opened) return undefined;
    if (indexOf(id) >= limit.announced) {
      return new QuicError(STREAM_LIMIT_ERROR, 'more streams than the limit allows', frameType);
    }
    // A stream opens all of its kind below it (§3.2).
    while (limit.opened <= indexOf(id)) {
      const opened = streamId(this.#side === 'client' ? 'server' : 'client', kind, limit.open());
      this.#create(opened);
      this.#events.push({ kind: 'stream-opened', id: opened });
    }
    return this.#streams.get(id);
  }

  /** After a change: queues what is due, and forgets the stream when it is closed. */
  #settle(stream: Stream): void {
    if (!stream.isDone) {
      this.#scheduler.update(stream);
      return;
    }
    if (!this.#streams.delete(stream.id)) return;
    this.#events.push({ kind: 'stream-closed', id: stream.id });
    if (!isOpenedBy(this.#side, stream.id)) this.#limits[kindOf(stream.id)].close();
  }

  // ---- frames of the connection ----

  get #isBlockedDue(): boolean {
    return this.#credit.isBlockedUnreported && this.#scheduler.isBlocked;
  }

  #isOpeningBlockedDue(kind: Kind): boolean {
    const own = this.#own[kind];
    return this.#peerGrants !== undefined && own.isWanted && own.credit.isBlockedUnreported;
  }

  #writeConnectionControl(
    out: Uint8Array,
    at: number,
    limit: number,
    carried: StreamFrameNotes,
  ): number {
    let next = at;
    const window = this.#receiveWindow;
    if (window.isUpdateDue && next + maxDataSize(window.next) <= limit && !carried.isPacketFull) {
      const granted = window.announce();
      next = writeMaxData(out, next, granted);
      carried.maxData(granted);
    }
    for (const kind of KINDS) next = this.#writeStreamLimits(kind, out, next, limit, carried);
    if (
      this.#isBlockedDue &&
      next + dataBlockedSize(this.#credit.limit) <= limit &&
      !carried.isPacketFull
    ) {
      const blockedAt = this.#credit.reportBlocked();
      next = writeDataBlocked(out, next, blockedAt);
      carried.dataBlocked(blockedAt);
    }
    return next;
  }

  #writeStreamLimits(
    kind: Kind,
    out: Uint8Array,
    at: number,
    limit: number,
    carried: StreamFrameNotes,
  ): number {
    let next = at;
    const own = this.#limits[kind];
    const { credit } = this.#own[kind];
    const bidirectional = kind === 0;
    if (own.isUpdateDue && next + maxStreamsSize(own.next) <= limit && !carried.isPacketFull) {
      const granted = own.announce();
      next = writeMaxStreams(out, next, bidirectional, granted);
      carried.maxStreams(bidirectional, granted);
    }
    if (
      this.#isOpeningBlockedDue(kind) &&
      next + streamsBlockedSize(credit.limit) <= limit &&
      !carried.isPacketFull
    ) {
      const blockedAt = credit.reportBlocked();
      next = writeStreamsBlocked(out, next, bidirectional, blockedAt);
      carried.streamsBlocked(bidirectional, blockedAt);
    }
    return next;
  }
}
