import { domainName } from './domain-name.ts';
import { MORE, NO_NAME, type Sniffed } from './sniffed.ts';

/** ContentType handshake (RFC 8446 §5.1): the first byte of every TLS connection. */
export const TLS_HANDSHAKE = 22;

const RECORD_HEADER = 5;
/** RFC 8446 §5.1: a plaintext record carries no more. */
const MAX_RECORD = 1 << 14;
const MESSAGE_HEADER = 4;
const CLIENT_HELLO = 1;
/** legacy_version and random (RFC 8446 §4.1.2). */
const HELLO_FIXED = 2 + 32;
const SERVER_NAME = 0;
const HOST_NAME = 0;

/**
 * The server name of a TLS ClientHello (RFC 8446 §4.1.2, RFC 6066 §3), as soon as its extension is
 * there: the rest of the message need not be.
 */
export function sniffTls(bytes: Uint8Array): Sniffed {
  const { message, broken } = joinRecords(bytes);
  const found = message.length > 0 && message[0] !== CLIENT_HELLO ? NO_NAME : serverName(message);
  return broken && !found.done ? NO_NAME : found;
}

/**
 * The handshake bytes of the records that have arrived, in whole or in part. `broken` when
 * something follows that cannot go on with the message.
 */
function joinRecords(bytes: Uint8Array): { message: Uint8Array; broken: boolean } {
  const message = new Uint8Array(bytes.length);
  let length = 0;
  let at = 0;
  let broken = false;
  while (at < bytes.length) {
    if (!plausibleHeader(bytes.subarray(at, at + RECORD_HEADER))) {
      broken = true;
      break;
    }
    if (at + RECORD_HEADER > bytes.length) break;
    const end = at + RECORD_HEADER + u16(bytes, at + 3);
    const fragment = bytes.subarray(at + RECORD_HEADER, end);
    message.set(fragment, length);
    length += fragment.length;
    at = end;
  }
  return { message: message.subarray(0, length), broken };
}

/** Whether a record header, or as much of it as has arrived, can be one of a ClientHello. */
function plausibleHeader(header: Uint8Array): boolean {
  const [type, major = 3, minor = 1] = header;
  if (type !== TLS_HANDSHAKE || major !== 3 || minor > 4) return false;
  if (header.length < RECORD_HEADER) return true;
  const length = u16(header, 3);
  return length > 0 && length <= MAX_RECORD;
}

/** Walks a ClientHello. A length that leads out of its container means that it is none. */
function serverName(message: Uint8Array): Sniffed {
  if (message.length < MESSAGE_HEADER) return MORE;
  const end = MESSAGE_HEADER + uint(message, 1, 3);
  let at = MESSAGE_HEADER + HELLO_FIXED;
  // Session id, cipher suites, compression methods: each a length of so many bytes, then content.
  for (const width of [1, 2, 1]) {
    if (at + width > end) return NO_NAME;
    if (at + width > message.length) return MORE;
    at += width + uint(message, at, width);
  }
  if (at + 2 > end) return NO_NAME; // a ClientHello without extensions
  if (at + 2 > message.length) return MORE;
  const extensionsEnd = at + 2 + u16(message, at);
  if (extensionsEnd > end) return NO_NAME;
  at += 2;
  while (at + 4 <= extensionsEnd) {
    if (at + 4 > message.length) return MORE;
    const type = u16(message, at);
    const next = at + 4 + u16(message, at + 2);
    if (next > extensionsEnd) return NO_NAME;
    if (type === SERVER_NAME) {
      return next > message.length ? MORE : hostName(message.subarray(at + 4, next));
    }
    at = next;
  }
  return NO_NAME;
}

/** The first host name of a ServerNameList. */
function hostName(extension: Uint8Array): Sniffed {
  if (extension.length < 2) return NO_NAME;
  const end = 2 + u16(extension, 0);
  if (end > extension.length) return NO_NAME;
  let at = 2;
  while (at + 3 <= end) {
    const next = at + 3 + u16(extension, at + 1);
    if (next > end) return NO_NAME;
    if (extension[at] === HOST_NAME) {
      const name = Buffer.from(extension.buffer, extension.byteOffset + at + 3, next - at - 3);
      return { done: true, domain: domainName(name.toString('latin1')) };
    }
    at = next;
  }
  return NO_NAME;
}

const u16 = (bytes: Uint8Array, at: number): number => uint(bytes, at, 2);

/** A big-endian number of `width` bytes; callers have checked that they are there. */
function uint(bytes: Uint8Array, at: number, width: number): number {
  let value = 0;
  for (let i = 0; i < width; i++) value = value * 256 + (bytes[at + i] ?? 0);
  return value;
}
