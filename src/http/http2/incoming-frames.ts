import type { HttpField } from '../fields/field.ts';
import type { ConnectionWindow } from './connection-window.ts';
import { connectionError, Http2Error, streamError } from './errors.ts';
import { checkRequest, checkResponse, checkTrailers } from './fields.ts';
import { WINDOW_LIMIT } from './limits.ts';
import { INTERIM_LIMIT } from '../limits.ts';
import type { LocalSettings } from './local-settings.ts';
import type { WorkLimits } from './work-limits.ts';
import type { Pings } from './pings.ts';
import { afterEnd, Receiver, type ReceiverHost } from './receiver.ts';
import type { Sender } from './sender.ts';
import type { PeerSettings } from './settings.ts';
import { afterEndReceived, afterHead } from './stream-state.ts';
import type { OpenStreams } from './open-streams.ts';
import type { Http2Stream } from './stream.ts';

/** The connection that receives the frames. */
export interface IncomingHost {
  readonly role: 'client' | 'server';
  /** Whether new requests of the peer are refused, after GOAWAY. */
  readonly isRefusing: boolean;
  /** Creates the object of a stream that the peer opens. */
  createStream(id: number): Http2Stream;
  onRequest(stream: Http2Stream, fields: readonly HttpField[]): void;
  /** Called when SETTINGS of the peer were applied. */
  onPeerSettings(): void;
  onPeerGoAway(lastStreamId: number, code: number, debug: Uint8Array): void;
}

/** The parts of a connection that the peer's frames change. */
export interface IncomingParts {
  readonly sender: Sender;
  readonly streams: OpenStreams;
  readonly window: ConnectionWindow;
  readonly local: LocalSettings;
  readonly peerSettings: PeerSettings;
  readonly pings: Pings;
  readonly limits: WorkLimits;
}

/** Applies the frames of the peer to the streams, windows and settings of a connection (RFC 9113 §6). */
export class IncomingFrames implements ReceiverHost {
  readonly #host: IncomingHost;
  readonly #receiver: Receiver;
  readonly #sender: Sender;
  readonly #streams: OpenStreams;
  readonly #window: ConnectionWindow;
  readonly #local: LocalSettings;
  readonly #peerSettings: PeerSettings;
  readonly #pings: Pings;
  readonly #limits: WorkLimits;
  #now = 0;
  /** The stream of the current DATA frame. */
  #current: Http2Stream | undefined;
  /** The last request whose header list was checked: most requests are the same array. */
  #checked: readonly HttpField[] | undefined;

  constructor(host: IncomingHost, parts: IncomingParts) {
    this.#host = host;
    this.#sender = parts.sender;
    this.#streams = parts.streams;
    this.#window = parts.window;
    this.#local = parts.local;
    this.#peerSettings = parts.peerSettings;
    this.#pings = parts.pings;
    this.#limits = parts.limits;
    this.#receiver = new Receiver(this, host.role === 'server');
  }

  /** Number of bytes of the last chunk that were read: less than its length if the turn is used up. */
  get taken(): number {
    return this.#receiver.taken;
  }

  /**
   * Processes received bytes. `now` is in milliseconds.
   * @returns the error that ends the connection, if any.
   */
  receive(chunk: Uint8Array, now: number): Http2Error | undefined {
    this.#now = now;
    this.#limits.beginTurn();
    return this.#receiver.receive(chunk, now);
  }

  get isTurnSpent(): boolean {
    return this.#limits.isTurnSpent(this.#streams.touchedCount);
  }

  onDataHeader(streamId: number, length: number): Http2Error | undefined {
    if (this.#streams.isIdle(streamId))
      return connectionError('PROTOCOL_ERROR', 'DATA on an idle stream');
    if (!this.#window.receive(length)) {
      return connectionError('FLOW_CONTROL_ERROR', 'the window of the connection is exceeded');
    }
    const stream = this.#streams.get(streamId);
    this.#current = stream;
    if (!stream) {
      // If this side has reset the stream, DATA in flight is dropped (§5.1).
      const error = this.#streams.errorOfClosed(streamId);
      return error && this.#fail(streamId, error);
    }
    let error: Http2Error | undefined;
    if (stream.remoteEnded) error = afterEnd();
    else if (stream.state.received === 'nothing') {
      error = streamError('PROTOCOL_ERROR', 'DATA before the headers');
    } else if (!this.#streams.receive(stream, length)) {
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
    if (stream) this.#streams.grant(stream);
  }

  onDataEnd(endsStream: boolean): Http2Error | undefined {
    const stream = this.#current;
    this.#current = undefined;
    if (endsStream && stream) this.#streams.endRemote(stream);
    return undefined;
  }

  onHeaders(
    streamId: number,
    fields: readonly HttpField[] | Http2Error,
    endsStream: boolean,
  ): Http2Error | undefined {
    const stream = this.#streams.get(streamId);
    if (stream) {
      const error =
        fields instanceof Http2Error ? fields : this.#continueStream(stream, fields, endsStream);
      return error && this.#failStream(streamId, error);
    }
    const isOwn = this.#streams.isOwn(streamId);
    const closed = this.#streams.errorOfClosed(streamId);
    if (closed) return this.#fail(streamId, closed);
    if (isOwn || this.#host.role === 'client') {
      // The response to a request that was reset.
      if (isOwn && !this.#streams.isIdle(streamId)) return this.#receiver.countIdle();
      return connectionError('PROTOCOL_ERROR', 'HEADERS on a wrong stream');
    }
    // The trailers of a request that was reset.
    if (streamId <= this.#streams.lastPeerId) return this.#receiver.countIdle();
    this.#streams.takePeerId(streamId);
    return this.#openStream(streamId, fields, endsStream);
  }

  onReset(streamId: number, code: number): Http2Error | undefined {
    if (this.#streams.isIdle(streamId))
      return connectionError('PROTOCOL_ERROR', 'a reset of an idle stream');
    const stream = this.#streams.get(streamId);
    // The stream has ended on this side in the meantime.
    if (!stream) {
      this.#streams.resetClosed(streamId);
      return this.#receiver.countIdle();
    }
    this.#limits.addStream();
    // Streams of this side do not count: the peer cannot cause more of them.
    const counts = !stream.isServed && !this.#streams.isOwn(streamId);
    const error = counts ? this.#limits.countReset(this.#now) : undefined;
    if (error) return error;
    this.#streams.abort(stream, { by: 'peer', code }, true);
    return undefined;
  }

  onSettings(payload: Uint8Array): Http2Error | undefined {
    const before = this.#peerSettings.initialWindowSize;
    const error = this.#peerSettings.apply(payload, this.#host.role === 'client');
    if (error) return error;
    const { initialWindowSize, headerTableSize } = this.#peerSettings;
    this.#sender.encoder.limit(headerTableSize);
    this.#sender.settingsAck();
    if (initialWindowSize !== before) {
      const looks = this.#sender.resize(before, this.#streams, WINDOW_LIMIT);
      if (looks === undefined) {
        return connectionError('FLOW_CONTROL_ERROR', 'INITIAL_WINDOW_SIZE is too large');
      }
      const tooMany = this.#limits.countWindowLooks(looks, this.#now);
      if (tooMany) return tooMany;
    }
    this.#host.onPeerSettings();
    return undefined;
  }

  onSettingsAck(): Http2Error | undefined {
    const before = this.#local.window;
    if (!this.#local.acknowledged()) {
      return connectionError('PROTOCOL_ERROR', 'SETTINGS are acknowledged that were not sent');
    }
    // With a smaller window, data that was read in the meantime may require a WINDOW_UPDATE.
    if (this.#local.window !== before) {
      for (const stream of this.#streams) this.#streams.grant(stream);
    }
    return undefined;
  }

  onPing(data: Uint8Array, isAck: boolean): void {
    if (isAck) this.#pings.acknowledged(data);
    else this.#sender.ping(data, true);
  }

  onGoAway(lastStreamId: number, code: number, debug: Uint8Array): void {
    this.#host.onPeerGoAway(lastStreamId, code, debug);
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
    if (increment === 0) {
      return this.#failStream(
        streamId,
        streamError('PROTOCOL_ERROR', 'a window update of nothing'),
      );
    }
    const stream = this.#streams.get(streamId);
    if (!stream) return undefined;
    if (this.#sender.widenStream(stream, increment, WINDOW_LIMIT)) return undefined;
    const error = streamError('FLOW_CONTROL_ERROR', 'the window of the stream is too large');
    return this.#failStream(streamId, error);
  }

  // ---- streams ----

  #openStream(
    streamId: number,
    fields: readonly HttpField[] | Http2Error,
    endsStream: boolean,
  ): Http2Error | undefined {
    if (fields instanceof Http2Error) return this.#failStream(streamId, fields);
    if (this.#host.isRefusing || this.#streams.size >= this.#local.streamLimit) {
      return this.#failStream(streamId, streamError('REFUSED_STREAM', 'no more streams'));
    }
    if (fields !== this.#checked) {
      const error = checkRequest(fields);
      if (error) return this.#failStream(streamId, error);
      this.#checked = fields;
    }
    this.#limits.addStream();
    const stream = this.#host.createStream(streamId);
    stream.state = afterHead(stream.state);
    if (endsStream) stream.state = afterEndReceived(stream.state);
    this.#streams.add(stream);
    this.#host.onRequest(stream, fields);
    if (endsStream) this.#streams.touch(stream);
    return undefined;
  }

  /** Processes HEADERS on an open stream: a response, or trailers. */
  #continueStream(
    stream: Http2Stream,
    fields: readonly HttpField[],
    endsStream: boolean,
  ): Http2Error | undefined {
    if (stream.remoteEnded) return afterEnd();
    if (stream.state.received === 'head') {
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
    stream.state = afterHead(stream.state);
    stream.handler?.onResponse(status, fields);
    if (endsStream) this.#streams.endRemote(stream);
    return undefined;
  }

  /** Handles an error by its scope: returns the error of a connection, or resets the stream. */
  #fail(streamId: number, error: Http2Error): Http2Error | undefined {
    return error.scope === 'connection' ? error : this.#failStream(streamId, error);
  }

  /** Resets a stream after a violation by the peer; returns an error if violations are too frequent. */
  #failStream(streamId: number, error: Http2Error): Http2Error | undefined {
    this.#limits.addStream();
    const tooMany = this.#limits.countReset(this.#now);
    if (tooMany) return tooMany;
    this.#sender.reset(streamId, error.code);
    const stream = this.#streams.get(streamId);
    if (stream) this.#streams.abort(stream, { by: 'self', code: error.code, cause: error }, true);
    return undefined;
  }
}
