import { ChurnMap } from '@weir/base/collections';
import type { HttpField } from '../fields/field.ts';
import {
  CLOSED_STREAM_LIMIT,
  INTERIM_LIMIT,
  SKIPPED_RANGE_LIMIT,
  WINDOW_LIMIT,
} from '../limits.ts';
import { connectionError, Http2Error, streamError } from './errors.ts';
import { checkRequest, checkResponse, checkTrailers } from './fields.ts';
import type { Sender } from './sender.ts';
import type { LocalSettings } from './settings.ts';
import {
  type ConnectionHandler,
  Http2Stream,
  type Http2StreamHost,
  type StreamEnd,
} from './stream.ts';
import type { WorkLimits } from './work-limits.ts';

/** Stream ids that the peer skipped, from the first to the last. */
interface SkippedRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Remembers how the peer ended its side of recently closed streams, to distinguish frames that the peer must not send
 * any more from frames that were in flight when this side reset a stream, which are ignored (RFC 9113 §5.1). Older
 * streams are treated as reset by this side.
 */
export class ClosedStreams {
  /** How the peer ended streams, in the order in which they were closed. */
  readonly #ends = new Map<number, 'END_STREAM' | 'RST_STREAM'>();
  readonly #skipped: SkippedRange[] = [];

  add(id: number, by: 'END_STREAM' | 'RST_STREAM'): void {
    if (this.#ends.size >= CLOSED_STREAM_LIMIT) {
      for (const oldest of this.#ends.keys()) {
        this.#ends.delete(oldest);
        break;
      }
    }
    this.#ends.set(id, by);
  }

  /** Called when the peer opens stream `id` after `last`: the ids in between are closed (RFC 9113 §5.1.1). */
  skip(last: number, id: number): void {
    // The ids of one side have a distance of two; before its first stream, `last` is 0.
    const first = last === 0 ? 2 - (id % 2) : last + 2;
    if (first >= id) return;
    if (this.#skipped.length >= SKIPPED_RANGE_LIMIT) this.#skipped.shift();
    this.#skipped.push({ first, last: id - 2 });
  }

  /** Returns the error of HEADERS or DATA on a closed stream; `undefined` if the frame is ignored. */
  errorOf(id: number): Http2Error | undefined {
    const end = this.#ends.get(id);
    if (end === 'END_STREAM') {
      return connectionError('STREAM_CLOSED', 'a frame follows the end of its stream');
    }
    if (end === 'RST_STREAM') {
      return streamError('STREAM_CLOSED', 'a frame follows the reset of its stream');
    }
    if (!this.#skipped.some(({ first, last }) => first <= id && id <= last)) return undefined;
    return connectionError('PROTOCOL_ERROR', 'a stream is opened after one with a larger id');
  }
}

/** Maximum stream id (RFC 9113 §5.1.1); a connection that has used it accepts no more requests. */
export const LAST_STREAM_ID = 2 ** 31 - 1;

/**
 * The fraction of a window that must be read before the window is replenished. A quarter causes few more WINDOW_UPDATE
 * frames than a half, and the sender does not stall while the reader waits for its turn.
 */
const GRANTED_SHARE = 1 / 4;

/**
 * The open streams of a connection: their ids, the frames that the peer sends on them, calls of readers, receive
 * windows. Methods that receive a frame return the error that ends the connection, if any; a violation that concerns
 * one stream resets it.
 */
export class Http2Streams implements Http2StreamHost {
  /** Whether new requests of the peer are refused, after GOAWAY. */
  isRefusing = false;
  readonly #role: 'client' | 'server';
  readonly #handler: ConnectionHandler;
  readonly #sender: Sender;
  readonly #local: LocalSettings;
  readonly #limits: WorkLimits;
  readonly #streams = new ChurnMap<number, Http2Stream>();
  readonly #closed = new ClosedStreams();
  /** The highest id of a stream opened by the peer. */
  lastPeerId = 0;
  #nextId: number;
  /** The stream of the current DATA frame. */
  #current: Http2Stream | undefined;
  /** The last request whose header list was checked: most requests are the same array. */
  #checked: readonly HttpField[] | undefined;
  /** Streams whose readers are to be called. */
  #touched: Http2Stream[] = [];
  /** Streams of this side that were open at the peer's first GOAWAY, by ascending id. */
  #unrefused: Http2Stream[] | undefined;

  constructor(
    role: 'client' | 'server',
    handler: ConnectionHandler,
    sender: Sender,
    local: LocalSettings,
    limits: WorkLimits,
  ) {
    this.#role = role;
    this.#nextId = role === 'client' ? 1 : 2;
    this.#handler = handler;
    this.#sender = sender;
    this.#local = local;
    this.#limits = limits;
  }

  get size(): number {
    return this.#streams.size;
  }

  [Symbol.iterator](): IterableIterator<Http2Stream> {
    return this.#streams.values();
  }

  /** Whether this side can open another stream. */
  get hasNextId(): boolean {
    return this.#nextId <= LAST_STREAM_ID;
  }

  /** Opens a stream of this side. */
  open(): Http2Stream {
    const stream = new Http2Stream(this, this.#nextId);
    this.#nextId += 2;
    this.#streams.set(stream.id, stream);
    return stream;
  }

  /** Whether a stream id has not been used yet (RFC 9113 §5.1.1). */
  isIdle(id: number): boolean {
    return this.#isOwn(id) ? id >= this.#nextId : id > this.lastPeerId;
  }

  /** Number of streams whose readers will be called. */
  get touchedCount(): number {
    return this.#touched.length;
  }

  /** Calls the readers, and copies the data that they have not taken. */
  callReaders(): void {
    const touched = this.#touched;
    if (touched.length === 0) return;
    this.#touched = [];
    for (const stream of touched) {
      stream.isTouched = false;
      stream.handler?.onReadable();
      stream.received.settle();
    }
  }

  /** Replenishes the windows of all streams after they have changed. */
  grantAll(): void {
    for (const stream of this.#streams.values()) this.#grant(stream);
  }

  /** Closes a stream at once. */
  abort(stream: Http2Stream, end: StreamEnd): void {
    stream.onReset();
    if (end.by === 'peer') this.#closed.add(stream.id, 'RST_STREAM');
    stream.handler?.onAbort(end);
  }

  /**
   * Returns the streams of this side above `lastId`, which after GOAWAY were not processed. A further GOAWAY costs only
   * the streams that it refuses, however many are open.
   */
  leftBehind(lastId: number): readonly Http2Stream[] {
    this.#unrefused ??= [...this.#streams.values()].filter(({ id }) => this.#isOwn(id));
    const all = this.#unrefused;
    let kept = all.length;
    while (kept > 0 && (all[kept - 1]?.id ?? 0) > lastId) kept--;
    return all.splice(kept);
  }

  // ---- frames of the peer ----

  /** Begins a DATA frame of `length` bytes on a stream that is not idle. */
  beginData(id: number, length: number): Http2Error | undefined {
    const stream = this.#streams.get(id);
    this.#current = stream;
    if (!stream) {
      // If this side has reset the stream, DATA in flight is dropped (§5.1).
      const error = this.#closed.errorOf(id);
      return error && this.#fail(id, error);
    }
    let error: Http2Error | undefined;
    if (stream.remoteEnded) error = afterEnd();
    else if (stream.arrived === 'nothing') {
      error = streamError('PROTOCOL_ERROR', 'DATA before the headers');
    } else if (!this.#receive(stream, length)) {
      error = streamError('FLOW_CONTROL_ERROR', 'the window of the stream is exceeded');
    }
    if (!error) return undefined;
    this.#current = undefined;
    return this.#failStream(id, error);
  }

  /** Receives a piece of the DATA frame. */
  data(piece: Uint8Array): void {
    const stream = this.#current;
    if (!stream || stream.isClosed) return;
    stream.received.push(piece);
    this.#touch(stream);
  }

  /** Ends the DATA frame; its padding counts as read at once (RFC 9113 §6.1). */
  endData(hasPadding: boolean, endsStream: boolean): void {
    const stream = this.#current;
    this.#current = undefined;
    if (!stream) return;
    if (hasPadding) this.#grant(stream);
    if (endsStream) this.#endRemote(stream);
  }

  /** Receives a header list, or the error of its stream. */
  headers(
    id: number,
    fields: readonly HttpField[] | Http2Error,
    endsStream: boolean,
  ): Http2Error | undefined {
    const stream = this.#streams.get(id);
    if (stream) {
      const error =
        fields instanceof Http2Error ? fields : this.#continueStream(stream, fields, endsStream);
      return error && this.#failStream(id, error);
    }
    const isOwn = this.#isOwn(id);
    const closed = this.#closed.errorOf(id);
    if (closed) return this.#fail(id, closed);
    if (isOwn || this.#role === 'client') {
      // The response to a request that was reset.
      if (isOwn && !this.isIdle(id)) return this.#limits.countIdle();
      return connectionError('PROTOCOL_ERROR', 'HEADERS on a wrong stream');
    }
    // The trailers of a request that was reset.
    if (id <= this.lastPeerId) return this.#limits.countIdle();
    this.#closed.skip(this.lastPeerId, id);
    this.lastPeerId = id;
    return this.#openStream(id, fields, endsStream);
  }

  /** Receives RST_STREAM. */
  resetByPeer(id: number, code: number): Http2Error | undefined {
    if (this.isIdle(id)) return connectionError('PROTOCOL_ERROR', 'a reset of an idle stream');
    const stream = this.#streams.get(id);
    if (!stream) {
      // The stream has ended on this side in the meantime. No more frames of it are in flight.
      this.#closed.add(id, 'RST_STREAM');
      return this.#limits.countIdle();
    }
    this.#limits.addStream();
    // Streams of this side do not count: the peer cannot cause more of them.
    const counts = !stream.isServed && !this.#isOwn(id);
    const error = counts ? this.#limits.countReset() : undefined;
    if (error) return error;
    this.abort(stream, { by: 'peer', code });
    return undefined;
  }

  /** Receives WINDOW_UPDATE of a stream. */
  widen(id: number, increment: number): Http2Error | undefined {
    if (this.isIdle(id)) {
      return connectionError('PROTOCOL_ERROR', 'a window update of an idle stream');
    }
    if (increment === 0) {
      return this.#failStream(id, streamError('PROTOCOL_ERROR', 'a window update of nothing'));
    }
    const stream = this.#streams.get(id);
    if (!stream) return undefined;
    if (this.#sender.widenStream(stream, increment, WINDOW_LIMIT)) return undefined;
    const error = streamError('FLOW_CONTROL_ERROR', 'the window of the stream is too large');
    return this.#failStream(id, error);
  }

  // ---- calls of streams ----

  write(stream: Http2Stream): void {
    this.#sender.offer(stream);
    if (this.#sender.output.length > 0) this.#handler.onOutput();
  }

  respond(stream: Http2Stream, fields: readonly HttpField[], isLast: boolean): void {
    this.#sender.headers(stream.id, fields, isLast);
    if (isLast) stream.onEndSent();
    this.#handler.onOutput();
  }

  reset(stream: Http2Stream, code: number): void {
    this.#sender.reset(stream.id, code);
    // Its user needs no `onAbort`.
    stream.onReset();
    this.#handler.onOutput();
  }

  consumed(stream: Http2Stream): void {
    if (this.#grant(stream)) this.#handler.onOutput();
  }

  served(): void {
    this.#limits.prove();
  }

  closed(stream: Http2Stream): void {
    this.#sender.forget(stream);
    if (stream.remoteEnded) this.#closed.add(stream.id, 'END_STREAM');
    if (this.#streams.delete(stream.id)) this.#handler.onStreamEnd();
  }

  // ---- one stream ----

  #isOwn(id: number): boolean {
    return id % 2 === this.#nextId % 2;
  }

  #openStream(
    id: number,
    fields: readonly HttpField[] | Http2Error,
    endsStream: boolean,
  ): Http2Error | undefined {
    if (fields instanceof Http2Error) return this.#failStream(id, fields);
    if (this.isRefusing || this.#streams.size >= this.#local.streamLimit) {
      return this.#failStream(id, streamError('REFUSED_STREAM', 'no more streams'));
    }
    if (fields !== this.#checked) {
      const error = checkRequest(fields);
      if (error) return this.#failStream(id, error);
      this.#checked = fields;
    }
    this.#limits.addStream();
    const stream = new Http2Stream(this, id);
    stream.onHead();
    if (endsStream) stream.onEndReceived();
    this.#streams.set(id, stream);
    this.#handler.onRequest(stream, fields);
    if (endsStream) this.#touch(stream);
    return undefined;
  }

  /** Processes HEADERS on an open stream: a response, or trailers. */
  #continueStream(
    stream: Http2Stream,
    fields: readonly HttpField[],
    endsStream: boolean,
  ): Http2Error | undefined {
    if (stream.remoteEnded) return afterEnd();
    if (stream.arrived === 'head') {
      if (!endsStream) return streamError('PROTOCOL_ERROR', 'trailers do not end the stream');
      const error = checkTrailers(fields);
      if (error) return error;
      stream.handler?.onTrailers(fields);
      this.#endRemote(stream);
      return undefined;
    }
    const status = checkResponse(fields);
    if (status instanceof Http2Error) return status;
    if (status < 200) {
      if (endsStream) return streamError('PROTOCOL_ERROR', 'an interim response ends the stream');
      if (++stream.interim <= INTERIM_LIMIT) return undefined;
      return streamError('ENHANCE_YOUR_CALM', 'too many interim responses');
    }
    stream.onHead();
    stream.handler?.onResponse(status, fields);
    if (endsStream) this.#endRemote(stream);
    return undefined;
  }

  #endRemote(stream: Http2Stream): void {
    if (stream.isClosed || stream.remoteEnded) return;
    stream.onEndReceived();
    this.#touch(stream);
  }

  /** Adds a stream to those whose readers are called at the end of the current receive call. */
  #touch(stream: Http2Stream): void {
    if (stream.isTouched) return;
    stream.isTouched = true;
    this.#touched.push(stream);
  }

  /** Counts a DATA frame of `length` bytes against the window of its stream; returns false if it exceeds the window. */
  #receive(stream: Http2Stream, length: number): boolean {
    // An empty frame is always allowed, since a smaller INITIAL_WINDOW_SIZE may have made the window negative (RFC 9113
    // §6.9.1, §6.9.2).
    const allowed = length === 0 || length <= this.#local.window + stream.receiveCredit;
    stream.receiveCredit -= length;
    return allowed;
  }

  /** Replenishes the window of a stream by the bytes read, once they are GRANTED_SHARE of the window. */
  #grant(stream: Http2Stream): boolean {
    if (stream.isClosed || stream.remoteEnded) return false;
    const { window, announcedWindow } = this.#local;
    const credit = window + stream.receiveCredit;
    const increment = announcedWindow - stream.received.length - credit;
    if (increment < announcedWindow * GRANTED_SHARE || increment === 0) return false;
    stream.receiveCredit += increment;
    this.#sender.windowUpdate(stream.id, increment);
    return true;
  }

  /** Handles an error by its scope: returns the error of a connection, or resets the stream. */
  #fail(id: number, error: Http2Error): Http2Error | undefined {
    return error.scope === 'connection' ? error : this.#failStream(id, error);
  }

  /** Resets a stream after a violation by the peer; returns an error if violations are too frequent. */
  #failStream(id: number, error: Http2Error): Http2Error | undefined {
    this.#limits.addStream();
    const tooMany = this.#limits.countReset();
    if (tooMany) return tooMany;
    this.#sender.reset(id, error.code);
    const stream = this.#streams.get(id);
    if (stream) this.abort(stream, { by: 'self', code: error.code, cause: error });
    return undefined;
  }
}

/** Returns the error of a frame on a stream that its peer has ended (RFC 9113 §5.1). */
const afterEnd = (): Http2Error =>
  streamError('STREAM_CLOSED', 'a frame follows the end of its stream');
