import {
  connectionError,
  Http2Error,
  Http2ErrorCode,
  http2ErrorName,
  streamError,
} from './errors.ts';
import { checkRequest, checkResponse, checkTrailers, type Field } from './fields.ts';
import { readUint32, writeUint32 } from '../../collections/network-order.ts';
import { PING_BYTES } from './frames.ts';
import { INTERIM_LIMIT, UNACKNOWLEDGED_LIMIT, WINDOW_LIMIT } from './limits.ts';
import { LocalSettings } from './local-settings.ts';
import { afterEnd, Receiver, type ReceiverHost } from './receiver.ts';
import { Patience } from './patience.ts';
import { Sender, type SenderHost } from './sender.ts';
import { INITIAL_WINDOW, PeerSettings, type Http2Settings } from './settings.ts';
import { Http2Stream, type StreamHost } from './stream.ts';
import { StreamTable } from './stream-table.ts';

/** The user of a connection. Called within its calls; must not throw. */
export interface ConnectionHandler {
  /** There is output, which may wait for more of this turn. */
  onOutput(): void;
  /** There is a full batch, to be taken at once if the link below takes it. */
  onFullBatch(): void;
  /** A request has come, of a client. Without a handler afterwards its stream is refused. */
  onRequest(stream: Http2Stream, fields: readonly Field[]): void;
  /** SETTINGS of the peer have come. */
  onPeerSettings(): void;
  /** The peer, or this side, accepts no more streams; those that are open continue. */
  onGoAway(): void;
  /** A stream has ended. */
  onStreamEnd(): void;
  /** The connection is over, for `error`; no stream is open any more. */
  onEnd(error: Error | Http2Error | undefined): void;
}

export interface ConnectionOptions {
  readonly role: 'client' | 'server';
  readonly settings: Http2Settings;
  /** What the peer may have in flight on all streams together. */
  readonly connectionWindow: number;
}

/**
 * - `open`: streams can be opened
 * - `going`: GOAWAY was sent or received, open streams continue
 * - `closed`: nothing is sent or received
 */
export type ConnectionState = 'open' | 'going' | 'closed';

/**
 * HTTP/2 (RFC 9113) without a socket and without a clock: bytes and the time go in, frames come out in
 * batches. Data is acknowledged on the connection as it arrives, and on its stream as it is taken, so
 * that a reader that rests stops its own sender alone.
 */
export class Http2Connection implements ReceiverHost, SenderHost, StreamHost {
  readonly role: 'client' | 'server';
  readonly peerSettings = new PeerSettings();
  readonly #local: LocalSettings;
  readonly #handler: ConnectionHandler;
  readonly #sender: Sender;
  readonly #receiver: Receiver;
  readonly #streams: StreamTable;
  readonly #patience: Patience;
  #state: ConnectionState = 'open';
  #now = 0;
  #hasPeerSettings = false;
  #isRefusing = false;
  /** What the peer said with GOAWAY. */
  #goodbye: string | undefined;
  readonly #window: number;
  #credit = INITIAL_WINDOW;
  /** The stream of the DATA frame under way. */
  #current: Http2Stream | undefined;
  /** The last header list that was checked: most are the same. */
  #checked: readonly Field[] | undefined;
  /** PINGs that are not acknowledged, in order. */
  readonly #pings: { readonly number: number; readonly onAck: () => void }[] = [];
  #lastPing = 0;

  constructor(options: ConnectionOptions, handler: ConnectionHandler) {
    const { role, settings, connectionWindow } = options;
    this.role = role;
    this.#handler = handler;
    this.#patience = new Patience(role === 'client');
    this.#sender = new Sender(this.peerSettings, this);
    this.#receiver = new Receiver(this, role === 'server');
    this.#local = new LocalSettings(settings, this.#sender);
    this.#window = connectionWindow;
    this.#streams = new StreamTable(role, this.#sender, this.#local, () => handler.onStreamEnd());
  }

  /** Sends the preface and SETTINGS. */
  start(): void {
    if (this.role === 'client') this.#sender.preface();
    this.#local.announce();
    this.#grant();
    this.#handler.onOutput();
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Open streams. */
  get streamCount(): number {
    return this.#streams.size;
  }

  get hasPeerSettings(): boolean {
    return this.#hasPeerSettings;
  }

  /** What the peer said when it went away: the name of a code and text. */
  get goodbye(): string | undefined {
    return this.#goodbye;
  }

  /** Whether a request can be made now. */
  get mayRequest(): boolean {
    return (
      this.#state === 'open' &&
      this.#streams.hasNextId &&
      this.#streams.size < this.peerSettings.maxConcurrentStreams
    );
  }

  // ---- input and output ----

  /**
   * Takes bytes of the peer, which are not used after the call. `now` in milliseconds.
   * @returns how many were taken: the others are to be given in another turn of the event loop.
   */
  receive(chunk: Uint8Array, now: number): number {
    if (this.#state === 'closed') return chunk.length;
    this.#now = now;
    this.#patience.beginTurn();
    const error = this.#receiver.receive(chunk, now);
    this.#streams.callReaders();
    if (error) this.fail(error);
    else if (this.#sender.isOverrun) {
      this.fail(connectionError('ENHANCE_YOUR_CALM', 'responses are not read'));
    } else this.#sender.pump();
    if (this.#sender.output.length > 0) this.#handler.onOutput();
    return this.#receiver.taken;
  }

  /** The peer has ended the connection, or the link below has failed. */
  lost(error: Error | undefined): void {
    this.#finish(error);
  }

  /** Bytes that are to be sent. */
  get outputLength(): number {
    return this.#sender.output.length;
  }

  /** The bytes to be sent, which are now the caller's. */
  takeOutput(): Uint8Array<ArrayBuffer> {
    return this.#sender.take();
  }

  /** Whether the link below has not taken the last batch, which holds back DATA. */
  set isBlocked(isBlocked: boolean) {
    this.#sender.isBlocked = isBlocked;
    if (isBlocked || this.#state === 'closed') return;
    this.#sender.pump();
    if (this.outputLength > 0) this.#handler.onOutput();
  }

  // ---- calls of the user ----

  /** Makes a request. `undefined` when `mayRequest` is false. */
  request(fields: readonly Field[], isLast = false): Http2Stream | undefined {
    if (!this.mayRequest) return undefined;
    const stream = new Http2Stream(this, this.#streams.takeNextId());
    this.#streams.add(stream);
    this.#sender.headers(stream.id, fields, isLast);
    if (isLast) this.onEndSent(stream);
    this.#handler.onOutput();
    return stream;
  }

  /**
   * Changes settings of this side. They are in force when the peer has acknowledged them, but for a
   * window that grows. False when too many changes are not acknowledged, or the connection is over;
   * `onAck` is not called when it ends before.
   */
  changeSettings(settings: Http2Settings, onAck: () => void): boolean {
    if (this.#state === 'closed' || this.#local.pending >= UNACKNOWLEDGED_LIMIT) return false;
    this.#local.change(settings, onAck);
    this.#handler.onOutput();
    return true;
  }

  /**
   * Sends a PING; false when it does not. `onAck` is not called when the connection ends before.
   */
  ping(onAck: () => void): boolean {
    if (this.#state === 'closed' || this.#pings.length >= UNACKNOWLEDGED_LIMIT) return false;
    const data = new Uint8Array(PING_BYTES);
    writeUint32(data, 0, ++this.#lastPing);
    this.#pings.push({ number: this.#lastPing, onAck });
    this.#sender.ping(data, false);
    this.#handler.onOutput();
    return true;
  }

  /** Accepts no more streams and says so; those that are open continue. */
  goAway(): void {
    if (this.#state === 'closed' || this.#isRefusing) return;
    this.#isRefusing = true;
    this.#state = 'going';
    this.#sender.goAway(this.#streams.lastPeerId, Http2ErrorCode.NO_ERROR, '');
    this.#handler.onGoAway();
    this.#handler.onOutput();
  }

  /** Ends the connection and all its streams with GOAWAY; `error` is what the peer did, if anything. */
  fail(error: Http2Error | Error | undefined): void {
    if (this.#state === 'closed') return;
    const isOurs = !(error instanceof Http2Error);
    const code = isOurs ? Http2ErrorCode.NO_ERROR : error.code;
    if (!isOurs || !this.#isRefusing) {
      this.#sender.goAway(this.#streams.lastPeerId, code, isOurs ? '' : error.reason);
    }
    this.#finish(error);
    this.#handler.onOutput();
  }

  // ---- what streams ask for ----

  write(stream: Http2Stream): void {
    this.#sender.offer(stream);
    if (this.outputLength > 0) this.#handler.onOutput();
  }

  respond(stream: Http2Stream, fields: readonly Field[], isLast: boolean): void {
    this.#sender.headers(stream.id, fields, isLast);
    if (isLast) this.onEndSent(stream);
    this.#handler.onOutput();
  }

  end(stream: Http2Stream): void {
    this.#sender.offer(stream);
    this.#handler.onOutput();
  }

  reset(stream: Http2Stream, code: number): void {
    this.#sender.reset(stream.id, code);
    this.#streams.abort(stream, { by: 'self', code }, false);
    this.#handler.onOutput();
  }

  consumed(stream: Http2Stream): void {
    if (this.#streams.grant(stream)) this.#handler.onOutput();
  }

  served(): void {
    this.#patience.prove();
  }

  // ---- what the sender reports ----

  onFull(): void {
    this.#handler.onFullBatch();
  }

  onEndSent(stream: Http2Stream): void {
    this.#streams.endLocal(stream);
  }

  // ---- what the receiver reports ----

  get isTired(): boolean {
    return this.#patience.isTired(this.#streams.touchedCount);
  }

  onDataHeader(streamId: number, length: number): Http2Error | undefined {
    if (this.#streams.isIdle(streamId))
      return connectionError('PROTOCOL_ERROR', 'DATA on an idle stream');
    if (length > this.#credit) {
      return connectionError('FLOW_CONTROL_ERROR', 'the window of the connection is exceeded');
    }
    this.#credit -= length;
    if (this.#credit <= this.#window / 2) this.#grant();
    const stream = this.#streams.get(streamId);
    this.#current = stream;
    // A stream that has been reset: what was in flight is dropped.
    if (!stream) return undefined;
    let error: Http2Error | undefined;
    if (stream.remoteEnded) error = afterEnd();
    else if (!stream.hasHead) error = streamError('PROTOCOL_ERROR', 'DATA before the headers');
    else if (!this.#streams.receive(stream, length)) {
      error = streamError('FLOW_CONTROL_ERROR', 'the window of the stream is exceeded');
    }
    if (!error) return undefined;
    this.#current = undefined;
    return this.#failStream(streamId, error);
  }

  onData(piece: Uint8Array): void {
    const stream = this.#current;
    if (!stream || stream.isClosed) return;
    stream.received.push(piece);
    this.#streams.touch(stream);
  }

  onPadding(): void {
    const stream = this.#current;
    if (stream) this.consumed(stream);
  }

  onDataEnd(endsStream: boolean): Http2Error | undefined {
    const stream = this.#current;
    this.#current = undefined;
    if (endsStream && stream) this.#streams.endRemote(stream);
    return undefined;
  }

  onHeaders(
    streamId: number,
    fields: readonly Field[] | Http2Error,
    endsStream: boolean,
  ): Http2Error | undefined {
    const stream = this.#streams.get(streamId);
    if (stream) {
      const error =
        fields instanceof Http2Error ? fields : this.#continueStream(stream, fields, endsStream);
      return error && this.#failStream(streamId, error);
    }
    const isOwn = this.#streams.isOwn(streamId);
    if (isOwn || this.role === 'client') {
      // A response to a request that was reset.
      if (isOwn && !this.#streams.isIdle(streamId)) return undefined;
      return connectionError('PROTOCOL_ERROR', 'HEADERS on a wrong stream');
    }
    // Trailers of a request that was reset.
    if (streamId <= this.#streams.lastPeerId) return undefined;
    this.#streams.lastPeerId = streamId;
    return this.#openStream(streamId, fields, endsStream);
  }

  onReset(streamId: number, code: number): Http2Error | undefined {
    if (this.#streams.isIdle(streamId))
      return connectionError('PROTOCOL_ERROR', 'a reset of an idle stream');
    const stream = this.#streams.get(streamId);
    // It has ended here too, meanwhile.
    if (!stream) return this.#receiver.countIdle();
    this.#patience.addStream();
    // Streams of this side are as many as this side has wanted.
    const counts = !stream.isServed && !this.#streams.isOwn(streamId);
    const error = counts ? this.#patience.countReset(this.#now) : undefined;
    if (error) return error;
    this.#streams.abort(stream, { by: 'peer', code }, true);
    return undefined;
  }

  onSettings(payload: Uint8Array): Http2Error | undefined {
    const before = this.peerSettings.initialWindowSize;
    const error = this.peerSettings.apply(payload, this.role === 'client');
    if (error) return error;
    const { initialWindowSize, headerTableSize } = this.peerSettings;
    this.#sender.encoder.limit(headerTableSize);
    this.#sender.settingsAck();
    if (initialWindowSize !== before) {
      const looks = this.#sender.resize(before, this.#streams, WINDOW_LIMIT);
      if (looks === undefined) {
        return connectionError('FLOW_CONTROL_ERROR', 'INITIAL_WINDOW_SIZE is too large');
      }
      const tooMany = this.#patience.countWindowLooks(looks, this.#now);
      if (tooMany) return tooMany;
    }
    this.#hasPeerSettings = true;
    this.#handler.onPeerSettings();
    return undefined;
  }

  onSettingsAck(): Http2Error | undefined {
    const before = this.#local.window;
    if (!this.#local.acknowledged()) {
      return connectionError('PROTOCOL_ERROR', 'SETTINGS are acknowledged that were not sent');
    }
    // A window that has shrunk may be due an update for what was taken meanwhile.
    if (this.#local.window !== before) {
      for (const stream of this.#streams) this.consumed(stream);
    }
    return undefined;
  }

  onPing(data: Uint8Array, isAck: boolean): void {
    if (!isAck) {
      this.#sender.ping(data, true);
      return;
    }
    if (this.#pings[0]?.number === readUint32(data, 0)) this.#pings.shift()?.onAck();
  }

  onGoAway(lastStreamId: number, code: number, debug: Uint8Array): void {
    const text = Buffer.from(debug.subarray(0, 128))
      .toString('latin1')
      .replaceAll(UNPRINTABLE, '?');
    if (code !== Http2ErrorCode.NO_ERROR) {
      this.#goodbye = http2ErrorName(code) + (text === '' ? '' : `: ${text}`);
    }
    if (this.#state === 'open') this.#state = 'going';
    if (this.role === 'client') this.#streams.leaveBehind(lastStreamId);
    this.#handler.onGoAway();
  }

  onWindowUpdate(streamId: number, increment: number): Http2Error | undefined {
    if (streamId === 0) {
      if (increment === 0) return connectionError('PROTOCOL_ERROR', 'a window update of nothing');
      if (this.#sender.widen(increment, WINDOW_LIMIT)) return undefined;
      return connectionError('FLOW_CONTROL_ERROR', 'the window of the connection is too large');
    }
    if (this.#streams.isIdle(streamId)) {
      return connectionError('PROTOCOL_ERROR', 'a window update of an idle stream');
    }
    const stream = this.#streams.get(streamId);
    if (!stream) return undefined;
    if (increment === 0) {
      return this.#failStream(
        streamId,
        streamError('PROTOCOL_ERROR', 'a window update of nothing'),
      );
    }
    if (this.#sender.widenStream(stream, increment, WINDOW_LIMIT)) return undefined;
    const error = streamError('FLOW_CONTROL_ERROR', 'the window of the stream is too large');
    return this.#failStream(streamId, error);
  }

  // ---- streams ----

  #openStream(
    streamId: number,
    fields: readonly Field[] | Http2Error,
    endsStream: boolean,
  ): Http2Error | undefined {
    if (fields instanceof Http2Error) return this.#failStream(streamId, fields);
    if (this.#isRefusing || this.#streams.size >= this.#local.streamLimit) {
      return this.#failStream(streamId, streamError('REFUSED_STREAM', 'no more streams'));
    }
    if (fields !== this.#checked) {
      const error = checkRequest(fields);
      if (error) return this.#failStream(streamId, error);
      this.#checked = fields;
    }
    this.#patience.addStream();
    const stream = new Http2Stream(this, streamId);
    stream.hasHead = true;
    this.#streams.add(stream);
    stream.remoteEnded = endsStream;
    this.#handler.onRequest(stream, fields);
    if (endsStream) this.#streams.touch(stream);
    return undefined;
  }

  /** A response, or trailers. */
  #continueStream(
    stream: Http2Stream,
    fields: readonly Field[],
    endsStream: boolean,
  ): Http2Error | undefined {
    if (stream.remoteEnded) return afterEnd();
    if (stream.hasHead) {
      if (!endsStream) return streamError('PROTOCOL_ERROR', 'trailers do not end the stream');
      const error = checkTrailers(fields);
      if (error) return error;
      stream.handler?.onTrailers(fields);
      this.#streams.endRemote(stream);
      return undefined;
    }
    const status = checkResponse(fields);
    if (status instanceof Http2Error) return status;
    if (status < 200) {
      if (endsStream) return streamError('PROTOCOL_ERROR', 'an interim response ends the stream');
      if (++stream.interim <= INTERIM_LIMIT) return undefined;
      return streamError('ENHANCE_YOUR_CALM', 'too many interim responses');
    }
    stream.hasHead = true;
    stream.handler?.onResponse(status, fields);
    if (endsStream) this.#streams.endRemote(stream);
    return undefined;
  }

  /** Resets a stream for what the peer did on it; an error when it does so too often. */
  #failStream(streamId: number, error: Http2Error): Http2Error | undefined {
    this.#patience.addStream();
    const tooMany = this.#patience.countReset(this.#now);
    if (tooMany) return tooMany;
    this.#sender.reset(streamId, error.code);
    const stream = this.#streams.get(streamId);
    if (stream) this.#streams.abort(stream, { by: 'self', code: error.code, cause: error }, true);
    return undefined;
  }

  // ---- windows ----

  #grant(): void {
    const increment = this.#window - this.#credit;
    if (increment <= 0) return;
    this.#credit += increment;
    this.#sender.windowUpdate(0, increment);
  }

  #finish(cause: Error | Http2Error | undefined): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    const code = Http2ErrorCode.CANCEL;
    for (const stream of this.#streams) {
      this.#streams.abort(stream, { by: 'connection', code, cause }, true);
    }
    this.#handler.onEnd(cause);
  }
}

/** What does not belong into a log line. */
const UNPRINTABLE = /[^\x20-\x7e]/g;
