import { decodeAddressField, SOCKS_ADDRESS, type Endpoint } from '@weir/io/addresses';
import { ProtocolError } from '@weir/io';

/** The headers of SIP022 before they are sealed. */

/** The direction of a message (§3.1.3, §3.2.3). */
export const HeaderType = { client: 0, server: 1 } as const;

export const MAX_PADDING = 900;
/** Seconds by which the clocks of two peers may differ. */
const MAX_SKEW_S = 30;

/** The length of a request's fixed header: type, timestamp, length. */
export const REQUEST_FIXED = 1 + 8 + 2;
/** Returns the length of a response's fixed header, which also has the salt of the request. */
export const responseFixed = (saltLength: number): number => 1 + 8 + saltLength + 2;

const TIMESTAMP_AT = 1;

/** Writes a type and a timestamp, in Unix seconds, to `out` at `offset`. */
export function writeStamp(out: Buffer, type: number, wallMs: number, offset = 0): void {
  out[offset] = type;
  out.writeBigUInt64BE(BigInt(Math.floor(wallMs / 1000)), offset + TIMESTAMP_AT);
}

/** Returns the timestamp of a header, in Unix seconds. */
export const stampOf = (header: Buffer, offset: number): number =>
  header.readUInt32BE(offset + TIMESTAMP_AT) * 2 ** 32 +
  header.readUInt32BE(offset + TIMESTAMP_AT + 4);

/**
 * Checks the type and the timestamp of a header, and returns the latter, in Unix seconds.
 * @throws {ProtocolError} for a header of the other direction, or outside the time tolerance.
 */
export function checkStamp(header: Buffer, type: number, wallMs: number, offset = 0): number {
  if (header[offset] !== type) throw new ProtocolError('shadowsocks-2022: invalid header type');
  const stamp = stampOf(header, offset);
  if (Math.abs(stamp - Math.floor(wallMs / 1000)) > MAX_SKEW_S) {
    throw new ProtocolError(
      'shadowsocks-2022: the clocks differ by more than 30 s, or the message is a replay',
    );
  }
  return stamp;
}

/** Encodes the fixed header of a request whose variable header has `length` bytes. */
export function encodeRequestFixed(wallMs: number, length: number): Buffer {
  const header = Buffer.allocUnsafe(REQUEST_FIXED);
  writeStamp(header, HeaderType.client, wallMs);
  header.writeUInt16BE(length, REQUEST_FIXED - 2);
  return header;
}

/** Decodes the timestamp, and the length of the variable header. @throws {ProtocolError} for an invalid stamp. */
export function decodeRequestFixed(
  header: Buffer,
  wallMs: number,
): { readonly stamp: number; readonly length: number } {
  const stamp = checkStamp(header, HeaderType.client, wallMs);
  return { stamp, length: header.readUInt16BE(REQUEST_FIXED - 2) };
}

/** Encodes the fixed header of a response whose first payload has `length` bytes. */
export function encodeResponseFixed(
  wallMs: number,
  requestSalt: Uint8Array,
  length: number,
): Buffer {
  const header = Buffer.allocUnsafe(responseFixed(requestSalt.length));
  writeStamp(header, HeaderType.server, wallMs);
  header.set(requestSalt, 9);
  header.writeUInt16BE(length, 9 + requestSalt.length);
  return header;
}

/**
 * Decodes the timestamp, and the length of the first payload.
 * @throws {ProtocolError} also for a response to another request.
 */
export function decodeResponseFixed(
  header: Buffer,
  wallMs: number,
  requestSalt: Uint8Array,
): { readonly stamp: number; readonly length: number } {
  const stamp = checkStamp(header, HeaderType.server, wallMs);
  if (!header.subarray(9, 9 + requestSalt.length).equals(requestSalt)) {
    throw new ProtocolError('shadowsocks-2022: a response to another request');
  }
  return { stamp, length: header.readUInt16BE(9 + requestSalt.length) };
}

/** Encodes the variable header of a request: address, padding and the first payload. */
export function encodeRequestVariable(
  address: Uint8Array,
  padding: Uint8Array,
  payload: Uint8Array,
): Buffer {
  const length = Buffer.of(padding.length >> 8, padding.length & 0xff);
  return Buffer.concat([address, length, padding, payload]);
}

export interface RequestVariable {
  readonly destination: Endpoint;
  readonly payload: Uint8Array;
}

/**
 * Decodes the variable header of a request.
 * @throws {ProtocolError} when it is invalid, or has neither padding nor payload.
 */
export function decodeRequestVariable(header: Buffer): RequestVariable {
  const field = decodeAddressField(header, 0, SOCKS_ADDRESS);
  if (!field) throw new ProtocolError('shadowsocks-2022: the address is truncated');
  if (!field.endpoint) throw new ProtocolError('the destination has an invalid host name');
  if (header.length < field.end + 2)
    throw new ProtocolError('shadowsocks-2022: the padding length is missing');
  const padding = header.readUInt16BE(field.end);
  const start = field.end + 2 + padding;
  if (start > header.length) {
    throw new ProtocolError('shadowsocks-2022: the padding exceeds the header');
  }
  const payload = header.subarray(start);
  if (padding === 0 && payload.length === 0) {
    throw new ProtocolError('shadowsocks-2022: neither padding nor payload');
  }
  return { destination: field.endpoint, payload };
}
