import { readVarint, TRUNCATED, varintSizeAt, writeVarint } from '@weir/quic/varint';
import { connectionError, type Http3Error } from './errors.ts';
import { FIELD_SECTION_LIMIT, CONTROL_FRAME_LIMIT } from '../limits.ts';
import { FrameReader, FrameType, isHttp2Frame, type FrameSink, type Payload } from './frames.ts';

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
  #settings: ReadonlyMap<number, number> | undefined;
  #goAway = Infinity;
  #maxPushId = -1;

  constructor(role: 'client' | 'server') {
    this.#role = role;
  }

  /** The peer's settings; `undefined` until they have arrived. */
  get settings(): ReadonlyMap<number, number> | undefined {
    return this.#settings;
  }

  feed(bytes: Uint8Array): Http3Error | undefined {
    return this.#frames.feed(bytes);
  }

  onFrame(type: number, length: number): Payload | Http3Error {
    if (this.#settings === undefined && type !== FrameType.SETTINGS) {
      return connectionError('H3_MISSING_SETTINGS', 'the control stream begins without SETTINGS');
    }
    switch (type) {
      case FrameType.SETTINGS:
        if (this.#settings !== undefined) return unexpected('a second SETTINGS frame');
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
      this.#settings = settings;
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
