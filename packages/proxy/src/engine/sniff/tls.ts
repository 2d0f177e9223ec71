import { GrowingBytes } from '@weir/base/bytes';
import { domainName, MORE, NO_NAME, type Sniffed, type Sniffer } from './sniffer.ts';

/** The content type handshake (RFC 8446 §5.1): the first byte of every TLS connection. */
export const TLS_HANDSHAKE = 22;

const RECORD_HEADER = 5;
/** The largest plaintext record in bytes (RFC 8446 §5.1). */
const MAX_RECORD = 1 << 14;
const MESSAGE_HEADER = 4;
const CLIENT_HELLO = 1;
/** Bytes of legacy_version and random (RFC 8446 §4.1.2). */
const HELLO_FIXED = 2 + 32;
const SERVER_NAME = 0;
const HOST_NAME = 0;

/**
 * Finds the server name of a TLS ClientHello (RFC 8446 §4.1.2, RFC 6066 §3) as soon as its extension has
 * arrived. The sniffer keeps its position, so that each byte is examined once, whatever the chunk boundaries.
 */
export class TlsSniffer implements Sniffer {
  /** The handshake bytes of all records so far, the last one perhaps incomplete. */
  readonly #message = new GrowingBytes();
  readonly #search = serverName(this.#message);
  /** Length of the message that is needed to continue the search. */
  #needed = 0;
  /** Start of the current record. */
  #record = 0;
  /** Position of the next byte to examine. */
  #at = 0;

  look(bytes: Uint8Array): Sniffed {
    const goesOn = this.#join(bytes);
    while (this.#message.length >= this.#needed) {
      const step = this.#search.next();
      if (step.done) return step.value;
      this.#needed = step.value;
    }
    return goesOn ? MORE : NO_NAME;
  }

  /** Joins the records; returns false when the next bytes are not a handshake record. */
  #join(bytes: Uint8Array): boolean {
    while (this.#record < bytes.length) {
      const header = bytes.subarray(this.#record, this.#record + RECORD_HEADER);
      if (!plausibleHeader(header)) return false;
      if (header.length < RECORD_HEADER) break;
      const start = this.#record + RECORD_HEADER;
      const end = start + u16(header, 3);
      this.#message.append(bytes.subarray(Math.max(this.#at, start), end));
      this.#at = Math.min(end, bytes.length);
      if (this.#at < end) break;
      this.#record = end;
    }
    return true;
  }
}

/** Whether a record header, perhaps incomplete, can belong to a ClientHello. */
function plausibleHeader(header: Uint8Array): boolean {
  const [type, major = 3, minor = 1] = header;
  if (type !== TLS_HANDSHAKE || major !== 3 || minor > 4) return false;
  if (header.length < RECORD_HEADER) return true;
  const length = u16(header, 3);
  return length > 0 && length <= MAX_RECORD;
}

/**
 * Walks through a ClientHello. Yields the number of bytes of the message that it needs to continue. A length
 * beyond its container makes the message invalid.
 */
function* serverName(message: GrowingBytes): Generator<number, Sniffed, void> {
  yield 1;
  if (message.bytes[0] !== CLIENT_HELLO) return NO_NAME;
  yield MESSAGE_HEADER;
  const end = MESSAGE_HEADER + uint(message.bytes, 1, 3);
  let at = MESSAGE_HEADER + HELLO_FIXED;
  // Session id, cipher suites, compression methods: each has a length of this width, then content.
  for (const width of [1, 2, 1]) {
    if (at + width > end) return NO_NAME;
    yield at + width;
    at += width + uint(message.bytes, at, width);
  }
  if (at + 2 > end) return NO_NAME; // a ClientHello without extensions
  yield at + 2;
  const extensionsEnd = at + 2 + u16(message.bytes, at);
  if (extensionsEnd > end) return NO_NAME;
  at += 2;
  while (at + 4 <= extensionsEnd) {
    yield at + 4;
    const type = u16(message.bytes, at);
    const next = at + 4 + u16(message.bytes, at + 2);
    if (next > extensionsEnd) return NO_NAME;
    if (type === SERVER_NAME) {
      yield next;
      return hostName(message.bytes.subarray(at + 4, next));
    }
    at = next;
  }
  return NO_NAME;
}

/** Returns the first host name of a ServerNameList. */
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

/** Reads a big-endian number of `width` bytes, which are within `bytes`. */
function uint(bytes: Uint8Array, at: number, width: number): number {
  let value = 0;
  for (let i = 0; i < width; i++) value = value * 256 + (bytes[at + i] ?? 0);
  return value;
}
