import type { QuicConnection, QuicStream } from '@weir/quic';
import { UnitShare } from '@weir/io/bounds';
import { TRUNCATED, writeVarint, readVarint, varintSizeAt } from '@weir/quic/varint';
import { connectionError, Http3ErrorCode, type Http3Error } from './errors.ts';
import {
  frameHead,
  FrameType,
  varintFrame,
  readFirstVarint,
  StreamType,
  FrameReader,
  isHttp2Frame,
  type FrameSink,
  type Payload,
} from './frames.ts';
import {
  BUFFERED_FIELDS_LIMIT,
  FIELD_SECTION_LIMIT,
  CONTROL_FRAME_LIMIT,
  CRITICAL_BYTES_A_UNIT,
} from '../limits.ts';
import { InstructionReader } from './qpack.ts';
import { FieldBudget } from './request-stream.ts';

/** A reader of a critical stream. */
interface StreamReader {
  feed(bytes: Uint8Array): Http3Error | undefined;
}

/**
 * The parts of an HTTP/3 connection (RFC 9114) that clients and servers share: the critical streams in
 * both directions, and the end of the connection after a violation by the peer.
 */
export class Http3Connection {
  readonly budget = new FieldBudget(BUFFERED_FIELDS_LIMIT);
  readonly #connection: QuicConnection;
  readonly #role: 'client' | 'server';
  readonly #peerStreams = new Set<number>();
  #control: QuicStream | undefined;
  /** Frames to send once the control stream is open. */
  readonly #waiting: Uint8Array[] = [];
  #mayEndCritical = false;

  constructor(connection: QuicConnection, role: 'client' | 'server') {
    this.#connection = connection;
    this.#role = role;
    void this.#openControl();
    // A client has no use for QPACK streams, and the clients of the reference open none.
    if (role === 'server') {
      void this.#openCritical(StreamType.QPACK_ENCODER);
      void this.#openCritical(StreamType.QPACK_DECODER);
    }
  }

  /**
   * Called when the connection carries another protocol from now on: the peer may then abandon HTTP/3, which ends and
   * stops critical streams (as a client on the Rust crate h3 does).
   */
  release(): void {
    this.#mayEndCritical = true;
  }

  /** Ends the connection because of a violation. */
  fail(error: Http3Error): void {
    this.#connection.close(error.code, error.reason);
  }

  /** Ends the connection or the request, by the scope of the error. */
  failRequest(stream: QuicStream, error: Http3Error): void {
    if (error.scope === 'connection') this.fail(error);
    else abandon(stream, error.code);
  }

  /** Sends GOAWAY (RFC 9114 §5.2). */
  sendGoAway(id: number): void {
    const frame = varintFrame(FrameType.GOAWAY, id);
    if (this.#control === undefined) this.#waiting.push(frame);
    else void send(this.#control, frame);
  }

  /** Reads a unidirectional stream opened by the peer. */
  acceptUnidirectional(stream: QuicStream): void {
    // A stream that fails before its type is known is ignored (§6.2).
    this.#read(stream).catch(() => undefined);
  }

  async #read(stream: QuicStream): Promise<void> {
    const first = await readFirstVarint(stream);
    switch (first.value) {
      case TRUNCATED:
        return;
      case StreamType.CONTROL:
        return this.#readCritical(stream, first.value, first.bytes.subarray(first.size), {
          reader: new ControlReader(this.#role),
          name: 'control',
        });
      case StreamType.QPACK_ENCODER:
        return this.#readCritical(stream, first.value, first.bytes.subarray(first.size), {
          reader: new InstructionReader('encoder'),
          name: 'QPACK encoder',
        });
      case StreamType.QPACK_DECODER:
        return this.#readCritical(stream, first.value, first.bytes.subarray(first.size), {
          reader: new InstructionReader('decoder'),
          name: 'QPACK decoder',
        });
      case StreamType.PUSH:
        return this.fail(
          this.#role === 'server'
            ? connectionError('H3_STREAM_CREATION_ERROR', 'a push stream from a client')
            : connectionError('H3_ID_ERROR', 'a push was not allowed'),
        );
      default:
        // Unknown types, including reserved ones, may be refused at any time (§6.2).
        stream.stopSending(Http3ErrorCode.H3_STREAM_CREATION_ERROR);
    }
  }

  /** Reads a critical stream: only one of each type is allowed, and it must not end (§6.2.1, RFC 9204 §4.2). */
  async #readCritical(
    stream: QuicStream,
    type: number,
    first: Uint8Array,
    { reader, name }: { readonly reader: StreamReader; readonly name: string },
  ): Promise<void> {
    if (this.#peerStreams.has(type)) {
      return this.fail(connectionError('H3_STREAM_CREATION_ERROR', `a second ${name} stream`));
    }
    this.#peerStreams.add(type);
    const share = new UnitShare(this);
    try {
      for (
        let chunk: Uint8Array | undefined = first;
        chunk !== undefined;
        chunk = await stream.read()
      ) {
        const error = reader.feed(chunk);
        if (error !== undefined) return this.fail(error);
        const turn = share.take(Math.floor(chunk.length / CRITICAL_BYTES_A_UNIT));
        if (turn) await turn;
      }
    } catch {
      // A reset counts as an end; after the end of the connection nothing changes.
    }
    this.#failCritical(`the ${name} stream was closed`);
  }

  #failCritical(reason: string): void {
    if (this.#mayEndCritical) return;
    this.fail(connectionError('H3_CLOSED_CRITICAL_STREAM', reason));
  }

  async #openControl(): Promise<void> {
    const settings = encodeSettings(ownSettings(this.#role));
    const control = await this.#openCritical(
      StreamType.CONTROL,
      Buffer.concat([frameHead(FrameType.SETTINGS, settings.length), settings]),
    );
    if (control === undefined) return;
    this.#control = control;
    for (const frame of this.#waiting) void send(control, frame);
  }

  /** Opens a critical stream of this side; `undefined` if the connection ends before. */
  async #openCritical(
    type: number,
    content: Uint8Array = new Uint8Array(0),
  ): Promise<QuicStream | undefined> {
    const head = new Uint8Array(1);
    writeVarint(head, 0, type);
    try {
      const stream = await this.#connection.openStream('unidirectional');
      void send(stream, Buffer.concat([head, content]));
      // The stream ends before the connection only if the peer sends STOP_SENDING, which is forbidden.
      void stream.closed.then(() => this.#failCritical('a critical stream was stopped'));
      return stream;
    } catch {
      return undefined;
    }
  }
}

/** Writes to a stream whose failure is detected elsewhere. Never rejects. */
async function send(stream: QuicStream, bytes: Uint8Array): Promise<void> {
  try {
    await stream.write(bytes);
  } catch {
    // The stream or the connection has ended.
  }
}

/** Ends both directions of a request stream with the same error code. */
export function abandon(stream: QuicStream, code: number): void {
  stream.reset(code);
  stream.stopSending(code);
}

/** Identifiers of settings (RFC 9114 §7.2.4.1, RFC 9204 §5, RFC 9220 §3, RFC 9297 §2.1.1). */
const Setting = {
  QPACK_MAX_TABLE_CAPACITY: 0x01,
  MAX_FIELD_SECTION_SIZE: 0x06,
  QPACK_BLOCKED_STREAMS: 0x07,
  ENABLE_CONNECT_PROTOCOL: 0x08,
  H3_DATAGRAM: 0x33,
} as const;

/** Settings of HTTP/2 without a counterpart in HTTP/3: their receipt is an error (RFC 9114 §7.2.4.1). */
const HTTP2_SETTINGS: ReadonlySet<number> = new Set([0x00, 0x02, 0x03, 0x04, 0x05]);

/** Settings whose value must be 0 or 1. */
const FLAGS: ReadonlySet<number> = new Set([Setting.ENABLE_CONNECT_PROTOCOL, Setting.H3_DATAGRAM]);

/**
 * Returns the settings of this side: the limit of header sections and, for servers as in the reference implementation,
 * extended CONNECT.
 */
export const ownSettings = (role: 'client' | 'server'): ReadonlyMap<number, number> =>
  new Map([
    [Setting.QPACK_MAX_TABLE_CAPACITY, 0],
    [Setting.MAX_FIELD_SECTION_SIZE, FIELD_SECTION_LIMIT],
    [Setting.QPACK_BLOCKED_STREAMS, 0],
    ...(role === 'server' ? ([[Setting.ENABLE_CONNECT_PROTOCOL, 1]] as const) : []),
  ]);

/** Encodes the payload of a SETTINGS frame. */
export function encodeSettings(settings: ReadonlyMap<number, number>): Uint8Array {
  const payload = new Uint8Array(settings.size * 16);
  let at = 0;
  for (const [id, value] of settings)
    at = writeVarint(payload, writeVarint(payload, at, id), value);
  return payload.subarray(0, at);
}

/**
 * Decodes the payload of a SETTINGS frame (RFC 9114 §7.2.4). Values above 2^53 - 1 are Infinity.
 * @returns the settings, H3_SETTINGS_ERROR, or H3_FRAME_ERROR for a payload that ends within a setting.
 */
export function decodeSettings(payload: Uint8Array): ReadonlyMap<number, number> | Http3Error {
  const settings = new Map<number, number>();
  let at = 0;
  while (at < payload.length) {
    const id = readVarint(payload, at, payload.length);
    if (id === TRUNCATED) return truncated();
    at += varintSizeAt(payload, at);
    const value = readVarint(payload, at, payload.length);
    if (value === TRUNCATED) return truncated();
    at += varintSizeAt(payload, at);
    if (HTTP2_SETTINGS.has(id)) {
      return connectionError('H3_SETTINGS_ERROR', 'a setting of HTTP/2');
    }
    if (FLAGS.has(id) && value > 1) {
      return connectionError('H3_SETTINGS_ERROR', 'a setting is neither 0 nor 1');
    }
    // Identifiers above 2^53 - 1 are all Infinity here; none of them is defined.
    if (!Number.isFinite(id)) continue;
    if (settings.has(id)) return connectionError('H3_SETTINGS_ERROR', 'a setting is repeated');
    settings.set(id, value);
  }
  return settings;
}

const truncated = (): Http3Error =>
  connectionError('H3_FRAME_ERROR', 'SETTINGS ends within a setting');

/** Reads the peer's control stream (RFC 9114 §6.2.1, §7.2); `role` is that of this side. */
export class ControlReader implements FrameSink {
  readonly #role: 'client' | 'server';
  readonly #frames = new FrameReader(this);
  /** The peer's settings; `undefined` until they have arrived. */
  settings: ReadonlyMap<number, number> | undefined;
  #goAway = Infinity;
  #maxPushId = -1;

  constructor(role: 'client' | 'server') {
    this.#role = role;
  }

  feed(bytes: Uint8Array): Http3Error | undefined {
    return this.#frames.feed(bytes);
  }

  onFrame(type: number, length: number): Payload | Http3Error {
    if (this.settings === undefined && type !== FrameType.SETTINGS) {
      return connectionError('H3_MISSING_SETTINGS', 'the control stream begins without SETTINGS');
    }
    switch (type) {
      case FrameType.SETTINGS:
        if (this.settings !== undefined) return unexpected('a second SETTINGS frame');
        return length > CONTROL_FRAME_LIMIT
          ? connectionError('H3_EXCESSIVE_LOAD', 'the SETTINGS frame is too large')
          : 'whole';
      case FrameType.MAX_PUSH_ID:
        if (this.#role === 'client') return unexpected('MAX_PUSH_ID from a server');
        return wholeVarint(length);
      case FrameType.GOAWAY:
      case FrameType.CANCEL_PUSH:
        return wholeVarint(length);
      case FrameType.DATA:
      case FrameType.HEADERS:
      case FrameType.PUSH_PROMISE:
        return unexpected('a frame of requests on the control stream');
      default:
        return isHttp2Frame(type) ? unexpected('a frame of HTTP/2') : 'dropped';
    }
  }

  onPayload(type: number, payload: Uint8Array): Http3Error | undefined {
    if (type === FrameType.SETTINGS) {
      const settings = decodeSettings(payload);
      if (!(settings instanceof Map)) return settings as Http3Error;
      this.settings = settings;
      return undefined;
    }
    const id = readVarint(payload, 0, payload.length);
    if (id < 0 || varintSizeAt(payload, 0) !== payload.length) return notOneVarint();
    switch (type) {
      case FrameType.GOAWAY:
        return this.#onGoAway(id, payload);
      case FrameType.MAX_PUSH_ID:
        if (id < this.#maxPushId) return idError('MAX_PUSH_ID was reduced');
        this.#maxPushId = id;
        return undefined;
      default:
        // CANCEL_PUSH (§7.2.3): no push was promised, and clients do not allow any.
        return idError('CANCEL_PUSH of a push that was not promised');
    }
  }

  /** Processes GOAWAY, in which a server names a request stream, a client a push; the id must not increase (§5.2). */
  #onGoAway(id: number, payload: Uint8Array): Http3Error | undefined {
    // The type of a stream is in its low bits, also in 2^62 - 4, which a server may send first.
    const type = (payload.at(-1) ?? 0) & 0x03;
    if (this.#role === 'client' && type !== 0) return idError('GOAWAY names no request stream');
    if (id > this.#goAway) return idError('GOAWAY was raised');
    this.#goAway = id;
    return undefined;
  }
}

const unexpected = (reason: string): Http3Error => connectionError('H3_FRAME_UNEXPECTED', reason);
const idError = (reason: string): Http3Error => connectionError('H3_ID_ERROR', reason);
const notOneVarint = (): Http3Error =>
  connectionError('H3_FRAME_ERROR', 'the payload is not one integer');

/** Accepts a payload whose length is valid for a varint, which is checked before it is buffered. */
const wholeVarint = (length: number): Payload | Http3Error =>
  length < 1 || length > 8 ? notOneVarint() : 'whole';
