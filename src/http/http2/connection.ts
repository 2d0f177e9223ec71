import { shownForeign } from '../../net/addresses/shown-address.ts';
import { ConnectionWindow } from './connection-window.ts';
import { connectionError, Http2Error, Http2ErrorCode, http2ErrorName } from './errors.ts';
import type { HttpField } from '../fields/field.ts';
import { IncomingFrames, type IncomingHost } from './incoming-frames.ts';
import { UNACKNOWLEDGED_LIMIT } from './limits.ts';
import { LocalSettings } from './local-settings.ts';
import { WorkLimits } from './work-limits.ts';
import { Pings } from './pings.ts';
import { Sender, type SenderHost } from './sender.ts';
import { PeerSettings, type Http2Settings } from './settings.ts';
import { Http2Stream, type Http2StreamHost, type StreamEnd } from './stream.ts';
import { OpenStreams } from './open-streams.ts';

/** The user of a connection. Its methods are called synchronously by the connection, and must not throw. */
export interface ConnectionHandler {
  /** Called when there is output, which may be delayed until the end of the turn, to be sent with more. */
  onOutput(): void;
  /** Called when a batch is full: it should be taken at once, unless the underlying link is blocked. */
  onFullBatch(): void;
  /** Called for a client's request. The stream must have a handler, or be reset, when the call returns. */
  onRequest(stream: Http2Stream, fields: readonly HttpField[]): void;
  /** Called when SETTINGS of the peer were received and applied. */
  onPeerSettings(): void;
  /** Called when the peer, or this side, accepts no more streams; open streams continue. */
  onGoAway(): void;
  /** Called when a stream has ended. */
  onStreamEnd(): void;
  /**
   * Called when the connection has ended, with the `error`, if any.
   *
   * @param streams the streams that were open: each must be passed to `abort`, immediately or in later turns of the
   * event loop, since there may be thousands. Until then a stream delivers no data, and what is sent on it is lost.
   */
  onEnd(
    error: Error | Http2Error | undefined,
    streams: readonly Http2Stream[],
    abort: (stream: Http2Stream) => void,
  ): void;
}

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
export type Http2ConnectionState = 'open' | 'going' | 'closed';

/**
 * An HTTP/2 connection (RFC 9113) without a socket and a clock: it receives bytes and the time, and produces frames in
 * batches. The connection window is replenished as data arrives, stream windows as data is read, so that a slow reader
 * blocks only its own stream.
 */
export class Http2Connection implements IncomingHost, SenderHost, Http2StreamHost {
  readonly role: 'client' | 'server';
  readonly peerSettings = new PeerSettings();
  readonly #local: LocalSettings;
  readonly #handler: ConnectionHandler;
  readonly #sender: Sender;
  readonly #incoming: IncomingFrames;
  readonly #streams: OpenStreams;
  readonly #limits: WorkLimits;
  #state: Http2ConnectionState = 'open';
  #hasPeerSettings = false;
  #isRefusing = false;
  /** The error code and debug text of the peer's GOAWAY. */
  #goAwayReason: string | undefined;
  readonly #window: ConnectionWindow;
  readonly #pings: Pings;

  constructor(options: ConnectionOptions, handler: ConnectionHandler) {
    const { role, settings, connectionWindow } = options;
    this.role = role;
    this.#handler = handler;
    this.#limits = new WorkLimits(role === 'client');
    this.#sender = new Sender(this.peerSettings, this);
    this.#local = new LocalSettings(settings, this.#sender);
    this.#window = new ConnectionWindow(connectionWindow, this.#sender);
    this.#pings = new Pings(this.#sender);
    this.#streams = new OpenStreams(role, this.#sender, this.#local, () => handler.onStreamEnd());
    this.#incoming = new IncomingFrames(this, {
      sender: this.#sender,
      streams: this.#streams,
      window: this.#window,
      local: this.#local,
      peerSettings: this.peerSettings,
      pings: this.#pings,
      limits: this.#limits,
    });
  }

  /** Sends the preface and SETTINGS. */
  start(): void {
    if (this.role === 'client') this.#sender.preface();
    this.#local.announce();
    this.#window.grant();
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
    const error = this.#incoming.receive(chunk, now);
    this.#streams.callReaders();
    if (error) this.fail(error);
    else if (this.#sender.isOverrun) {
      this.fail(connectionError('ENHANCE_YOUR_CALM', 'responses are not read'));
    } else this.#sender.pump();
    if (this.#sender.output.length > 0) this.#handler.onOutput();
    return this.#incoming.taken;
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
    const stream = new Http2Stream(this, this.#streams.takeNextId());
    this.#streams.add(stream);
    this.#sender.headers(stream.id, fields, isLast);
    if (isLast) this.onEndSent(stream);
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
    this.#local.change(settings, onAck);
    this.#handler.onOutput();
    return true;
  }

  /**
   * Sends a PING. Returns false if too many are unacknowledged or the connection has ended; `onAck` is not called if
   * the connection ends first.
   */
  ping(onAck: () => void): boolean {
    if (this.#state === 'closed' || !this.#pings.send(onAck)) return false;
    this.#handler.onOutput();
    return true;
  }

  /** Sends GOAWAY and accepts no more streams; open streams continue. */
  goAway(): void {
    if (this.#state === 'closed' || this.#isRefusing) return;
    this.#isRefusing = true;
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
    if (!isOurs || !this.#isRefusing) {
      this.#sender.goAway(this.#streams.lastPeerId, code, isOurs ? '' : error.reason);
    }
    this.#finish(error);
    this.#handler.onOutput();
  }

  // ---- Http2StreamHost ----

  write(stream: Http2Stream): void {
    this.#sender.offer(stream);
    if (this.outputLength > 0) this.#handler.onOutput();
  }

  respond(stream: Http2Stream, fields: readonly HttpField[], isLast: boolean): void {
    this.#sender.headers(stream.id, fields, isLast);
    if (isLast) this.onEndSent(stream);
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
    this.#limits.prove();
  }

  // ---- SenderHost ----

  onFull(): void {
    this.#handler.onFullBatch();
  }

  onEndSent(stream: Http2Stream): void {
    this.#streams.endLocal(stream);
  }

  // ---- IncomingHost ----

  get isRefusing(): boolean {
    return this.#isRefusing;
  }

  createStream(id: number): Http2Stream {
    return new Http2Stream(this, id);
  }

  onRequest(stream: Http2Stream, fields: readonly HttpField[]): void {
    this.#handler.onRequest(stream, fields);
  }

  onPeerSettings(): void {
    this.#hasPeerSettings = true;
    this.#handler.onPeerSettings();
  }

  onPeerGoAway(lastStreamId: number, code: number, debug: Uint8Array): void {
    const text = Buffer.from(debug.subarray(0, 128))
      .toString('latin1')
      .replaceAll(UNPRINTABLE, '?');
    if (code !== Http2ErrorCode.NO_ERROR) {
      this.#goAwayReason = http2ErrorName(code) + (text === '' ? '' : `: ${shownForeign(text)}`);
    }
    if (this.#state === 'open') this.#state = 'going';
    if (this.role === 'client') this.#streams.leaveBehind(lastStreamId);
    this.#handler.onGoAway();
  }

  #finish(cause: Error | Http2Error | undefined): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    const end: StreamEnd = { by: 'connection', code: Http2ErrorCode.CANCEL, cause };
    this.#handler.onEnd(cause, [...this.#streams], (stream) => {
      if (!stream.isClosed) this.#streams.abort(stream, end, true);
    });
  }
}

/** Characters that are replaced in the debug text of GOAWAY, which is logged. */
const UNPRINTABLE = /[^\x20-\x7e]/g;
