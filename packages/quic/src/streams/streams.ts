import { QuicError } from '../errors.ts';
import { FrameType, type FrameError, type StreamFrameVisitor } from '../wire/frame-types.ts';
import { numberSize, writeNumber } from '../wire/frame-writers.ts';
import type { FrameLog } from '../recovery/delivery.ts';
import { Fifo } from '@weir/base/collections';
import { ConnectionReceiveWindow, type Pace, SendCredit } from './flow-control.ts';
import {
  DEFAULT_STREAM_GRANTS,
  type PeerGrants,
  receiveMemory,
  type StreamGrants,
} from './grants.ts';
import type { END_OF_STREAM } from './receive-stream.ts';
import { Scheduler } from './scheduler.ts';
import type { StreamEvent } from './stream.ts';
import type { Role } from '../contract.ts';
import { OpenStreams } from './open-streams.ts';

/**
 * The streams of a connection (RFC 9000 §2 to §4): ids, states, limits, flow control, and the frames for all
 * of that. There are no timers; see `setPace`. Calls of the application for unknown or closed ids do nothing.
 */
export class Streams implements StreamFrameVisitor {
  readonly #pace: Pace = { now: 0, roundTrip: Infinity };
  readonly #receiveWindow: ConnectionReceiveWindow;
  readonly #credit = new SendCredit();
  readonly #scheduler = new Scheduler(this.#credit, (stream) => {
    this.#events.push({ kind: 'stream-writable', id: stream.id });
  });
  readonly #events = new Fifo<StreamEvent>();
  readonly #table: OpenStreams;
  readonly #grants: StreamGrants;

  /** @param isPeerKnown whether the peer need not authenticate itself: see `onAuthenticated`. */
  constructor(side: Role, grants: StreamGrants = DEFAULT_STREAM_GRANTS, isPeerKnown = true) {
    const pace = this.#pace;
    const scheduler = this.#scheduler;
    const receiveWindow = new ConnectionReceiveWindow(receiveMemory(grants, isPeerKnown), pace);
    this.#grants = grants;
    this.#receiveWindow = receiveWindow;
    this.#table = new OpenStreams({
      side,
      grants,
      pace,
      receiveWindow,
      scheduler,
      events: this.#events,
    });
  }

  /** Sets the limits of the peer's transport parameters. Until then nothing can be opened or sent. */
  setPeerGrants(grants: PeerGrants): void {
    this.#table.setPeerGrants(grants);
    this.maxData(grants.initialMaxData);
    this.maxStreams(true, grants.initialMaxStreamsBidi);
    this.maxStreams(false, grants.initialMaxStreamsUni);
  }

  /**
   * Sets the time and the smoothed RTT, both in milliseconds, before the packets of a datagram or of a batch
   * are processed. The growth of windows depends on them; without them windows grow with all that is consumed.
   */
  setPace(now: number, roundTrip: number): void {
    this.#pace.now = now;
    this.#pace.roundTrip = roundTrip;
  }

  // ---- the application's calls ----

  /** Opens a stream; `undefined` while the peer allows no more: then `streams-available` follows. */
  open(bidirectional: boolean): number | undefined {
    return this.#table.open(bidirectional);
  }

  /** Sets the number of bidirectional streams of the peer that may be open at once. */
  allowStreams(atOnce: number): void {
    this.#table.countsOf(true).atOnce = atOnce;
  }

  /** Called when the peer has authenticated itself: it gets the windows of the grants. */
  onAuthenticated(): void {
    this.#receiveWindow.enlarge(receiveMemory(this.#grants, true));
  }

  /**
   * Queues a chunk, which must no longer be changed. After false, the caller should wait for
   * `stream-writable`; the chunk is queued nevertheless. `undefined` when the stream takes no data: it is
   * finished, reset, stopped or closed.
   *
   * @param isOwned whether the stream takes over the memory of the chunk; see `OWNED` of a `ByteLink`.
   */
  write(id: number, chunk: Uint8Array, isOwned = false): boolean | undefined {
    const stream = this.#table.get(id);
    if (!stream?.send?.isOpen) return undefined;
    const mayContinue = stream.send.write(chunk, isOwned);
    this.#scheduler.update(stream);
    return mayContinue;
  }

  /** Returns the number of queued bytes of a stream that were never sent. */
  queued(id: number): number {
    return this.#table.get(id)?.send?.queued ?? 0;
  }

  /** Returns the number of bytes of a stream that were written and that the peer has not acknowledged. */
  undelivered(id: number): number {
    return this.#table.get(id)?.send?.undelivered ?? 0;
  }

  /** Ends the sending part after the queued data (FIN). Idempotent. */
  finish(id: number): void {
    const stream = this.#table.get(id);
    if (!stream?.send) return;
    stream.send.finish();
    this.#scheduler.update(stream);
  }

  /** Ends the sending part with RESET_STREAM and drops queued data. Idempotent. */
  reset(id: number, code: number): void {
    const stream = this.#table.get(id);
    if (stream?.send?.reset(code)) this.#scheduler.update(stream);
  }

  /**
   * Returns the next bytes, which the caller then owns; `END_OF_STREAM` after the last ones; `undefined` when there are
   * none now (or the stream was reset, stopped or closed). Reading raises the peer's limits.
   */
  read(id: number): Uint8Array | typeof END_OF_STREAM | undefined {
    const stream = this.#table.get(id);
    if (!stream?.receive) return undefined;
    const chunk = stream.receive.read();
    if (chunk === undefined) stream.isReaderWaiting = true;
    this.#table.settle(stream);
    return chunk;
  }

  /** Discards all further data of the peer, and sends STOP_SENDING. Idempotent. */
  stopReading(id: number, code: number): void {
    const stream = this.#table.get(id);
    if (!stream?.receive) return;
    stream.receive.stop(code);
    this.#table.settle(stream);
  }

  /** Returns the next event; `undefined` when there is none. */
  nextEvent(): StreamEvent | undefined {
    for (let event = this.#events.shift(); event; event = this.#events.shift()) {
      if (event.kind === 'stream-readable' || event.kind === 'stream-reset') {
        const stream = this.#table.get(event.id);
        if (!stream?.receive) continue;
        // The bytes may have been read or dropped since.
        if (event.kind === 'stream-readable') {
          if (!stream.receive.isReadable) {
            stream.isReaderWaiting = true;
            continue;
          }
        } else {
          stream.receive.acknowledgeReset();
          this.#table.settle(stream);
        }
      }
      return event;
    }
    return undefined;
  }

  /** Number of streams that are not closed. */
  get size(): number {
    return this.#table.size;
  }

  /** Number of bytes that were received and not read, with the gaps between them. */
  get unread(): number {
    return this.#receiveWindow.unread;
  }

  /** Total growth of the windows of all streams, in bytes. */
  get windowGrowth(): number {
    return this.#receiveWindow.growth;
  }

  // ---- frames of the peer ----

  /** Handles STREAM (§19.8). */
  stream(
    id: number,
    offset: number,
    bytes: Uint8Array,
    at: number,
    size: number,
    fin: boolean,
  ): FrameError {
    const stream = this.#table.receiving(id, FrameType.STREAM);
    if (stream instanceof QuicError) return stream;
    if (!stream?.receive) return undefined;
    const error = stream.receive.receive(offset, bytes, at, size, fin);
    if (error) return error;
    if (stream.isReaderWaiting && stream.receive.isReadable) {
      stream.isReaderWaiting = false;
      this.#events.push({ kind: 'stream-readable', id });
    }
    if (fin) this.#table.settle(stream);
    return undefined;
  }

  /** Handles RESET_STREAM (§19.4). */
  resetStream(id: number, code: number, finalSize: number): FrameError {
    const stream = this.#table.receiving(id, FrameType.RESET_STREAM);
    if (stream instanceof QuicError) return stream;
    if (!stream?.receive) return undefined;
    const { receive } = stream;
    const before = receive.state;
    const error = receive.reset(finalSize);
    if (error) return error;
    if (before !== receive.state && !receive.isDone) {
      this.#events.push({ kind: 'stream-reset', id, code });
    }
    this.#table.settle(stream);
    return undefined;
  }

  /** Handles STOP_SENDING (§19.5): a RESET_STREAM MUST be sent (§3.5). */
  stopSending(id: number, code: number): FrameError {
    const stream = this.#table.sending(id, FrameType.STOP_SENDING);
    if (stream instanceof QuicError) return stream;
    if (!stream?.send?.reset(code)) return undefined;
    this.#events.push({ kind: 'stream-stopped', id, code });
    this.#scheduler.update(stream);
    return undefined;
  }

  /** Handles MAX_DATA (§19.9). */
  maxData(limit: number): FrameError {
    this.#credit.raise(limit);
    return undefined;
  }

  /** Handles MAX_STREAM_DATA (§19.10). */
  maxStreamData(id: number, limit: number): FrameError {
    const stream = this.#table.sending(id, FrameType.MAX_STREAM_DATA);
    if (stream instanceof QuicError) return stream;
    if (stream?.send?.raiseLimit(limit)) this.#scheduler.update(stream);
    return undefined;
  }

  /** Handles MAX_STREAMS (§19.11). */
  maxStreams(bidirectional: boolean, limit: number): FrameError {
    if (this.#table.countsOf(bidirectional).raise(limit)) {
      this.#events.push({ kind: 'streams-available', bidirectional });
    }
    return undefined;
  }

  /** Handles DATA_BLOCKED (§19.12). */
  dataBlocked(limit: number): FrameError {
    if (limit < this.#receiveWindow.next) this.#receiveWindow.request();
    return undefined;
  }

  /** Handles STREAM_DATA_BLOCKED (§19.13). */
  streamDataBlocked(id: number, limit: number): FrameError {
    const stream = this.#table.receiving(id, FrameType.STREAM_DATA_BLOCKED);
    if (stream instanceof QuicError) return stream;
    if (!stream?.receive || limit >= stream.receive.nextLimit) return undefined;
    stream.receive.requestLimit();
    this.#scheduler.update(stream);
    return undefined;
  }

  /** Handles STREAMS_BLOCKED (§19.14). */
  streamsBlocked(bidirectional: boolean, limit: number): FrameError {
    this.#table.countsOf(bidirectional).onPeerBlocked(limit);
    return undefined;
  }

  // ---- frames to the peer ----

  /** Whether `writeFrames` would write a frame into an empty packet. */
  get hasFrames(): boolean {
    return this.#scheduler.hasData || this.hasControlFrames;
  }

  /** Whether new data waits for a limit of the peer. */
  get isFlowLimited(): boolean {
    return this.#scheduler.isFlowLimited;
  }

  /** Whether a frame other than STREAM is due. */
  get hasControlFrames(): boolean {
    if (this.#receiveWindow.isUpdateDue || this.#isBlockedDue()) return true;
    return this.#table.hasCountFrames || this.#scheduler.hasControl;
  }

  /**
   * Writes the frames that are due between `at` and `limit`: control frames, lost ranges, then new data of the stream
   * whose turn it is. Returns the offset after them; `at` when none fits.
   */
  writeFrames(out: Uint8Array, at: number, limit: number, log: FrameLog): number {
    let next = this.#writeConnectionControl(out, at, limit, log);
    next = this.#scheduler.writeControl(out, next, limit, log);
    return this.#scheduler.writeData(out, next, limit, log);
  }

  #isBlockedDue(): boolean {
    return this.#credit.isBlockedUnreported && this.#scheduler.isBlocked;
  }

  #writeConnectionControl(out: Uint8Array, at: number, limit: number, log: FrameLog): number {
    let next = at;
    const window = this.#receiveWindow;
    if (window.isUpdateDue && next + numberSize(window.next) <= limit && !log.isPacketFull) {
      next = writeNumber(out, next, FrameType.MAX_DATA, window.announce(log));
    }
    if (this.#table.hasCountFrames) next = this.#table.writeCountFrames(out, next, limit, log);
    if (
      this.#isBlockedDue() &&
      next + numberSize(this.#credit.limit) <= limit &&
      !log.isPacketFull
    ) {
      next = writeNumber(out, next, FrameType.DATA_BLOCKED, this.#credit.reportBlocked(log));
    }
    return next;
  }
}
