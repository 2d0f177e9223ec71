import { readVarint, TRUNCATED, varintSizeAt, writeVarint } from '../../quic/wire/varint.ts';
import { connectionError, type Http3Error } from './errors.ts';
import { FIELD_SECTION_LIMIT } from '../limits.ts';

/** Identifiers of settings (RFC 9114 §7.2.4.1, RFC 9204 §5, RFC 9220 §3, RFC 9297 §2.1.1). */
export const Setting = {
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
