import { readUint32, writeUint32 } from '@weir/base/bytes';
import { shownForeign } from '@weir/io/addresses';
import type { HttpField } from '../fields/field.ts';
import { UNACKNOWLEDGED_LIMIT, WINDOW_LIMIT } from '../limits.ts';
import { connectionError, Http2Error, Http2ErrorCode, http2ErrorName } from './errors.ts';
import { FrameReader, type FrameRead } from './frame-reader.ts';
import { GOAWAY_BYTES, PING_BYTES, readUint31 } from './frames.ts';
import { Sender } from './sender.ts';
import { INITIAL_WINDOW, LocalSettings, PeerSettings, type Http2Settings } from './settings.ts';
import type { ConnectionHandler, Http2Stream, StreamEnd } from './stream.ts';
import { Http2Streams, LAST_STREAM_ID } from './streams.ts';
import { WorkLimits } from './work-limits.ts';

/** The options of an HTTP/2 connection: its role, and what it announces to the peer (RFC 9113 §6.5.2 and §6.9). */
export interface ConnectionOptions {
  readonly role: 'client' | 'server';
  readonly settings: Http2Settings;
  /** Number of bytes that the peer may have in flight on all streams together. */
  readonly connectionWindow: number;
}

/**
 * The state of a connection:
 *
 * - `open`: streams can be opened
 * - `going`: GOAWAY was sent or received, open streams continue
 * - `closed`: nothing is sent or received
 */
type Http2ConnectionState = 'open' | 'going' | 'closed';

/**
 * An HTTP/2 connection (RFC 9113) without a socket and a clock: it receives bytes and the time, and produces frames in
 * batches. It reads frame by frame, and passes those of streams down to `Http2Streams`. The connection window is
 * replenished as data arrives, stream windows as data is read, so that a slow reader blocks only its own stream.
 */
export class Http2Connection {
  readonly role: 'client' | 'server';
  readonly peerSettings = new PeerSettings();
  readonly #settings: Http2Settings;
  readonly #local: LocalSettings;
  readonly #handler: ConnectionHandler;
  readonly #sender: Sender;
  readonly #reader: FrameReader;
  readonly #streams: Http2Streams;
  readonly #limits: WorkLimits;
  /** Number of bytes that the peer may have in flight, and of those that it may still send. */
  readonly #window: number;
  #credit = INITIAL_WINDOW;
  #state: Http2ConnectionState = 'open';
  #hasPeerSettings = false;
  /** The error code and debug text of the peer's GOAWAY. */
  #goAwayReason: string | undefined;
  /** Unacknowledged PING frames of this side, in the order sent (RFC 9113 §6.7). */
  readonly #pings: { readonly number: number; readonly onAck: () => void }[] = [];
  #lastPing = 0;

  constructor(options: ConnectionOptions, handler: ConnectionHandler) {
    const { role, settings, connectionWindow } = options;
    this.role = role;
    this.#settings = settings;
    this.#window = connectionWindow;
    this.#handler = handler;
    this.#limits = new WorkLimits(role === 'client');
    this.#reader = new FrameReader(this.#limits, role === 'server');
    this.#sender = new Sender(this.peerSettings, handler);
    this.#local = new LocalSettings(settings);
    this.#streams = new Http2Streams(role, handler, this.#sender, this.#local, this.#limits);
  }

  /** Sends the preface and SETTINGS. */
  start(): void {
    if (this.role === 'client') this.#sender.preface();
    this.#sender.settings(this.#local.change(this.#settings, undefined));
    this.#grant();
    this.#handler.onOutput();
  }

  get state(): Http2ConnectionState {
    return this.#state;
  }

  /** Whether this side has chosen the peer, or has served one of its streams. */
  get isProven(): boolean {
    return this.#limits.isProven;
  }

  /** Number of open streams. */
  get streamCount(): number {
    return this.#streams.size;
  }

  get hasPeerSettings(): boolean {
    return this.#hasPeerSettings;
  }

  /** The error code name and debug text of the peer's GOAWAY; `undefined` for NO_ERROR. */
  get goAwayReason(): string | undefined {
    return this.#goAwayReason;
  }

  /** Whether a request can be made at present. */
  get mayRequest(): boolean {
    return (
      this.#state === 'open' &&
      this.#streams.hasNextId &&
      this.#streams.size < this.peerSettings.maxConcurrentStreams
    );
  }

  // ---- input and output ----

  /**
   * Processes received bytes, which are not used after the call. `now` is in milliseconds.
   * @returns the number of bytes consumed; the rest must be passed again in a later turn of the event loop.
   */
  receive(chunk: Uint8Array, now: number): number {
    if (this.#state === 'closed') return chunk.length;
    this.#limits.beginTurn(now);
    this.#reader.push(chunk);
    const error = this.#readFrames();
    const taken = this.#reader.release();
    this.#streams.callReaders();
    if (error) this.fail(error);
    else if (this.#sender.isOverrun) {
      this.fail(connectionError('ENHANCE_YOUR_CALM', 'responses are not read'));
    } else this.#sender.pump();
    if (this.#sender.output.length > 0) this.#handler.onOutput();
    return error ? chunk.length : taken;
  }

  /** Called when the peer has ended the connection, or the underlying link has failed. */
  lost(error: Error | undefined): void {
    this.#finish(error);
  }

  /** Number of bytes to send. */
  get outputLength(): number {
    return this.#sender.output.length;
  }

  /** Returns the bytes to send, which then belong to the caller. */
  takeOutput(): Uint8Array<ArrayBuffer> {
    return this.#sender.take();
  }

  /** Whether the underlying link is still writing the last batch: DATA then waits. */
  set isBlocked(isBlocked: boolean) {
    this.#sender.isBlocked = isBlocked;
    if (isBlocked || this.#state === 'closed') return;
    this.#sender.pump();
    if (this.outputLength > 0) this.#handler.onOutput();
  }

  // ---- calls of the user ----

  /** Makes a request; returns `undefined` if `mayRequest` is false. */
  request(fields: readonly HttpField[], isLast = false): Http2Stream | undefined {
    if (!this.mayRequest) return undefined;
    const stream = this.#streams.open();
    this.#sender.headers(stream.id, fields, isLast);
    if (isLast) stream.onEndSent();
    this.#handler.onOutput();
    return stream;
  }

  /**
   * Changes settings of this side. They take effect when the peer has acknowledged them, except for a larger window,
   * which takes effect at once. Returns false if too many changes are unacknowledged or the connection has ended;
   * `onAck` is not called if the connection ends first.
   */
  changeSettings(settings: Http2Settings, onAck: () => void): boolean {
    if (this.#state === 'closed' || this.#local.pending >= UNACKNOWLEDGED_LIMIT) return false;
    this.#sender.settings(this.#local.change(settings, onAck));
    this.#handler.onOutput();
    return true;
  }

  /**
   * Sends a PING. Returns false if too many are unacknowledged or the connection has ended; `onAck` is not called if
   * the connection ends first.
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

  /**
   * Sends GOAWAY for streams to come. Those that the peer has opened before it reads that are accepted, until `goAway`
   * (RFC 9113 §6.8). `onAnnounced` is called when no more of them are on their way, unless the connection ends first.
   */
  announceGoAway(onAnnounced: () => void): void {
    if (this.#state === 'closed') return;
    this.#sender.goAway(LAST_STREAM_ID, Http2ErrorCode.NO_ERROR, '');
    if (!this.ping(onAnnounced)) onAnnounced();
  }

  /** Sends GOAWAY and accepts no more streams; open streams continue. */
  goAway(): void {
    if (this.#state === 'closed' || this.#streams.isRefusing) return;
    this.#streams.isRefusing = true;
    this.#state = 'going';
    this.#sender.goAway(this.#streams.lastPeerId, Http2ErrorCode.NO_ERROR, '');
    this.#handler.onGoAway();
    this.#handler.onOutput();
  }

  /** Ends the connection and all its streams with GOAWAY; `error` is the violation by the peer, if any. */
  fail(error: Http2Error | Error | undefined): void {
    if (this.#state === 'closed') return;
    const isOurs = !(error instanceof Http2Error);
    const code = isOurs ? Http2ErrorCode.NO_ERROR : error.code;
    if (!isOurs || !this.#streams.isRefusing) {
      this.#sender.goAway(this.#streams.lastPeerId, code, isOurs ? '' : error.reason);
    }
    this.#finish(error);
    this.#handler.onOutput();
  }

  // ---- frames of the peer ----

  /** Reads frames until the chunk or the turn is used up. Returns the error that ends the connection, if any. */
  #readFrames(): Http2Error | undefined {
    const reader = this.#reader;
    for (;;) {
      if (reader.isBetweenFrames && this.#limits.isTurnSpent(this.#streams.touchedCount)) {
        return undefined;
      }
      const read = reader.next();
      if (read === undefined || typeof read !== 'string') return read;
      const error = this.#handle(read);
      if (error) return error;
    }
  }

  /** Applies what was read (RFC 9113 §6). */
  #handle(read: FrameRead): Http2Error | undefined {
    const reader = this.#reader;
    const { streamId, payload } = reader;
    switch (read) {
      case 'data begins':
        return this.#beginData(streamId, reader.length);
      case 'data':
        this.#streams.data(payload);
        return undefined;
      case 'data ends':
        this.#streams.endData(reader.hasPadding, reader.endsStream);
        return undefined;
      case 'headers':
        return this.#streams.headers(streamId, reader.fields, reader.endsStream);
      case 'reset':
        return this.#streams.resetByPeer(streamId, reader.value);
      case 'settings':
        return this.#applySettings(payload);
      case 'settings acknowledged':
        return this.#onSettingsAck();
      case 'ping':
        if (!reader.isAck) this.#sender.ping(payload, true);
        // Other data than that of the oldest PING is ignored.
        else if (this.#pings[0]?.number === readUint32(payload, 0)) this.#pings.shift()?.onAck();
        return this.#limits.countPing();
      case 'go away':
        this.#onGoAway(payload);
        return this.#limits.countIdle();
      case 'window update':
        return streamId === 0
          ? this.#widen(reader.value)
          : this.#streams.widen(streamId, reader.value);
      case 'nothing':
        return undefined;
      default:
        return read satisfies never;
    }
  }

  #beginData(streamId: number, length: number): Http2Error | undefined {
    if (this.#streams.isIdle(streamId)) {
      return connectionError('PROTOCOL_ERROR', 'DATA on an idle stream');
    }
    if (length > this.#credit) {
      return connectionError('FLOW_CONTROL_ERROR', 'the window of the connection is exceeded');
    }
    this.#credit -= length;
    if (this.#credit <= this.#window / 2) this.#grant();
    return this.#streams.beginData(streamId, length);
  }

  /** Opens the receive window of the connection to its full size (RFC 9113 §6.9). */
  #grant(): void {
    const increment = this.#window - this.#credit;
    if (increment <= 0) return;
    this.#credit += increment;
    this.#sender.windowUpdate(0, increment);
  }

  #applySettings(payload: Uint8Array): Http2Error | undefined {
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
      const tooMany = this.#limits.countWindowLooks(looks);
      if (tooMany) return tooMany;
    }
    this.#hasPeerSettings = true;
    this.#handler.onPeerSettings();
    return undefined;
  }

  #onSettingsAck(): Http2Error | undefined {
    const before = this.#local.window;
    if (!this.#local.acknowledged()) {
      return connectionError('PROTOCOL_ERROR', 'SETTINGS are acknowledged that were not sent');
    }
    // With a smaller window, data that was read in the meantime may require a WINDOW_UPDATE.
    if (this.#local.window !== before) this.#streams.grantAll();
    return undefined;
  }

  #widen(increment: number): Http2Error | undefined {
    if (increment === 0) return connectionError('PROTOCOL_ERROR', 'a window update of nothing');
    if (this.#sender.widen(increment, WINDOW_LIMIT)) return undefined;
    return connectionError('FLOW_CONTROL_ERROR', 'the window of the connection is too large');
  }

  #onGoAway(payload: Uint8Array): void {
    const lastStreamId = readUint31(payload, 0);
    const code = readUint32(payload, 4);
    const debug = payload.subarray(GOAWAY_BYTES);
    const text = Buffer.from(debug.subarray(0, 128))
      .toString('latin1')
      .replaceAll(UNPRINTABLE, '?');
    if (code !== Http2ErrorCode.NO_ERROR) {
      this.#goAwayReason = http2ErrorName(code) + (text === '' ? '' : `: ${shownForeign(text)}`);
    }
    if (this.#state === 'open') this.#state = 'going';
    if (this.role === 'client') this.#refuse(this.#streams.leftBehind(lastStreamId));
    this.#handler.onGoAway();
  }

  #refuse(streams: readonly Http2Stream[]): void {
    if (streams.length === 0) return;
    const end: StreamEnd = { by: 'peer', code: Http2ErrorCode.REFUSED_STREAM };
    this.#handler.onRefused(streams, (stream) => {
      if (!stream.isClosed) this.#streams.abort(stream, end);
    });
  }

  #finish(cause: Error | Http2Error | undefined): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    const end: StreamEnd = { by: 'connection', code: Http2ErrorCode.CANCEL, cause };
    this.#handler.onEnd(cause, [...this.#streams], (stream) => {
      if (!stream.isClosed) this.#streams.abort(stream, end);
    });
  }
}

/** Characters that are replaced in the debug text of GOAWAY, which is logged. */
const UNPRINTABLE = /[^\x20-\x7e]/g;
