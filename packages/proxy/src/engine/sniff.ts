import { normalizeDomain } from '@weir/io/addresses';
import { GrowingBytes } from '@weir/base/bytes';
import { type Clock, Deadline } from '@weir/io/time';
import type { ByteLink } from '@weir/io/links';

/**
 * The result for the first bytes of a stream: a name, no name, or that more bytes are needed (not `done`).
 */
type Sniffed =
  | { readonly done: true; readonly domain: string | undefined }
  | { readonly done: false };

/** Finds a name in bytes as they arrive. */
interface Sniffer {
  /**
   * Examines the bytes.
   * @param bytes all bytes since the start, including those of earlier calls
   */
  look(bytes: Uint8Array): Sniffed;
}

const MORE: Sniffed = { done: false };
const NO_NAME: Sniffed = { done: true, domain: undefined };

/**
 * Returns the domain name in bytes from a client, given as Latin-1 text, in the form of requested names: lower case,
 * ASCII, without the trailing dot. `undefined` for an IP address and for any other text that is not a name.
 */
export function domainName(text: string): string | undefined {
  return normalizeDomain(Buffer.from(text, 'latin1').toString('utf8'));
}

/** The content type handshake (RFC 8446 §5.1): the first byte of every TLS connection. */
const TLS_HANDSHAKE = 22;

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
class TlsSniffer implements Sniffer {
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

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const HYPHEN = 0x2d;

/** Length of the longest method that is accepted; the longest registered one has 17 characters (IANA). */
const MAX_METHOD = 20;
const CONNECT = 'CONNECT';
const PROTOCOL = 'HTTP/1.';

/** Starts of a target in origin, absolute and asterisk form (RFC 9112 §3.2); only CONNECT has the authority form. */
const TARGET_STARTS = ['/', 'http://', 'https://', '*'];
const LONGEST_START = Math.max(...TARGET_STARTS.map((start) => start.length));
const AUTHORITY = /^https?:\/\/([^/?#]*)/i;

type Part = 'method' | 'before-target' | 'target' | 'before-version' | 'version' | 'fields';

/**
 * Finds the host of an HTTP/1 request (RFC 9112 §3.2): that of a target in absolute form, otherwise that of
 * the Host field. The sniffer keeps its position, so that each byte is examined once, whatever the chunk boundaries.
 *
 * Methods must have the form of the registered ones (capital letters and hyphens; they are case-sensitive,
 * RFC 9110 §9.1), so that other protocols, which begin with small letters, are recognised at once. A target
 * may have any visible bytes, raw UTF-8 included.
 */
class HttpSniffer implements Sniffer {
  #part: Part = 'method';
  /** Position of the next byte to examine. */
  #at = 0;
  /** Start of the current part or field line. */
  #start = 0;
  #connects = false;
  #target = '';

  look(bytes: Uint8Array): Sniffed {
    while (this.#part !== 'fields') {
      const byte = bytes[this.#at];
      if (byte === undefined) return MORE;
      const found = this.#requestLine(byte, bytes);
      if (found) return found;
      this.#at++;
    }
    return this.#fields(bytes);
  }

  /** Examines the next byte of the request line; returns the result when it ends the search. */
  #requestLine(byte: number, bytes: Uint8Array): Sniffed | undefined {
    const length = this.#at - this.#start;
    switch (this.#part) {
      case 'method':
        if (byte === SPACE && length > 0) {
          this.#connects = textOf(bytes, 0, this.#at) === CONNECT;
          this.#part = 'before-target';
        } else if (length === MAX_METHOD || !(isCapital(byte) || (byte === HYPHEN && length > 0))) {
          return NO_NAME;
        }
        return undefined;
      case 'before-target':
        if (byte === SPACE) return undefined;
        this.#begin('target');
        return this.#requestLine(byte, bytes);
      case 'target':
        if (byte === SPACE && length > 0) return this.#endTarget(bytes);
        if (!isVisible(byte)) return NO_NAME;
        return length < LONGEST_START && !this.#canBeTarget(bytes, true) ? NO_NAME : undefined;
      case 'before-version':
        if (byte === SPACE) return undefined;
        this.#begin('version');
        return this.#requestLine(byte, bytes);
      case 'version':
        if (byte === LF && length > PROTOCOL.length) return this.#endRequestLine();
        return canBeVersion(byte, length) ? undefined : NO_NAME;
      case 'fields':
        return undefined;
      default:
        return this.#part satisfies never;
    }
  }

  #begin(part: Part): void {
    this.#part = part;
    this.#start = this.#at;
  }

  /** Whether the target has a form that the method allows. @param partial whether more of the target may follow */
  #canBeTarget(bytes: Uint8Array, partial: boolean): boolean {
    if (this.#connects) return true;
    const end = Math.min(this.#start + LONGEST_START, partial ? this.#at + 1 : this.#at);
    const begun = textOf(bytes, this.#start, end).toLowerCase();
    return TARGET_STARTS.some(
      (start) => begun.startsWith(start) || (partial && start.startsWith(begun)),
    );
  }

  #endTarget(bytes: Uint8Array): Sniffed | undefined {
    if (!this.#canBeTarget(bytes, false)) return NO_NAME;
    this.#target = textOf(bytes, this.#start, this.#at);
    this.#part = 'before-version';
    return undefined;
  }

  #endRequestLine(): Sniffed | undefined {
    const authority = AUTHORITY.exec(this.#target)?.[1];
    if (authority !== undefined) return named(authority.slice(authority.lastIndexOf('@') + 1));
    this.#part = 'fields';
    this.#start = this.#at + 1;
    return undefined;
  }

  #fields(bytes: Uint8Array): Sniffed {
    for (;;) {
      const end = bytes.indexOf(LF, this.#at);
      if (end < 0) {
        this.#at = bytes.length;
        return MORE;
      }
      const line = textOf(bytes, this.#start, bytes[end - 1] === CR ? end - 1 : end);
      this.#at = this.#start = end + 1;
      const found = hostField(line);
      if (found) return found;
    }
  }
}

/** Returns the result of one line of the header section; `undefined` for a field other than Host. */
function hostField(line: string): Sniffed | undefined {
  if (line === '') return NO_NAME; // the end of the header section
  if (line.startsWith(' ') || line.startsWith('\t')) return undefined; // folded (RFC 9112 §5.2)
  const colon = line.indexOf(':');
  if (colon <= 0) return NO_NAME;
  if (line.slice(0, colon).toLowerCase() !== 'host') return undefined;
  return named(line.slice(colon + 1).trim());
}

/** Returns the name in `host[:port]`; an IP address, in brackets or without, is not a name. */
function named(authority: string): Sniffed {
  return { done: true, domain: domainName(authority.replace(/:[0-9]*$/, '')) };
}

/** Whether a byte is valid at this position of `HTTP/1.1` CR. */
function canBeVersion(byte: number, place: number): boolean {
  if (place < PROTOCOL.length) return byte === PROTOCOL.charCodeAt(place);
  return place === PROTOCOL.length ? isDigit(byte) : place === PROTOCOL.length + 1 && byte === CR;
}

const isCapital = (byte: number): boolean => byte >= 0x41 && byte <= 0x5a;
const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;
const isVisible = (byte: number): boolean => byte > SPACE && byte !== 0x7f;

const textOf = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');

/** Number of first bytes that are examined. */
export const SNIFF_LIMIT = 8192;
/** Milliseconds that a client has to send its first bytes. */
export const SNIFF_TIMEOUT_MS = 300;

const NOTHING = new Uint8Array(0);

interface SniffOptions {
  readonly clock: Clock;
  /** Ends the wait early: the server has sent first, or the flow has ended. */
  readonly signal?: AbortSignal;
}

/**
 * Reads the first bytes of a client's stream, finds the domain in them, and unreads them.
 *
 * Never rejects: the end or a failure of the link ends sniffing without a name, and the next read reports it
 * again.
 */
export async function sniff(link: ByteLink, options: SniffOptions): Promise<string | undefined> {
  using deadline = new Deadline(options.clock, SNIFF_TIMEOUT_MS, 'sniffing', options.signal);
  return await sniffUntil(link, deadline.signal);
}

/**
 * Finds the domain in the bytes that the link has already received, and unreads them. Returns `MORE` when further bytes
 * could change the result.
 */
export function sniffAhead(link: Pick<ByteLink, 'takeAhead' | 'unread'>): Sniffed {
  const chunk = link.takeAhead?.();
  if (!chunk) return MORE;
  link.unread(chunk);
  const sniffed = sniffDomain(chunk.subarray(0, SNIFF_LIMIT));
  return sniffed.done || chunk.length < SNIFF_LIMIT ? sniffed : NO_NAME;
}

/** Sniffs the domain as `sniff` does, until `signal` aborts. */
export async function sniffUntil(link: ByteLink, signal: AbortSignal): Promise<string | undefined> {
  const sniffer = new DomainSniffer();
  /** The first chunk, which usually suffices, or a copy of all chunks. */
  let head: Uint8Array = NOTHING;
  let copy: GrowingBytes | undefined;
  let last: Uint8Array | undefined;
  /** Number of bytes before `last`. */
  let before = 0;
  try {
    while (head.length < SNIFF_LIMIT) {
      const chunk = await readOrEnd(link, signal);
      if (chunk === undefined) return undefined;
      last = chunk;
      before = head.length;
      const piece = chunk.subarray(0, SNIFF_LIMIT - before);
      if (before === 0) head = piece;
      else {
        if (!copy) (copy = new GrowingBytes()).append(head);
        copy.append(piece);
        head = copy.bytes;
      }
      const sniffed = sniffer.look(head);
      if (sniffed.done) return sniffed.domain;
    }
    return undefined;
  } finally {
    // In two chunks at most, even if the client has sent every byte separately.
    if (last) link.unread(last);
    if (before > 0) link.unread(head.subarray(0, before));
  }
}

async function readOrEnd(link: ByteLink, signal: AbortSignal): Promise<Uint8Array | undefined> {
  try {
    return await link.read(signal);
  } catch {
    // A time limit, an abort or a failure: in each case there is no name.
    return undefined;
  }
}

/**
 * Finds the domain in the first bytes of a client's stream: the server name of a TLS ClientHello or the host
 * of an HTTP/1 request, in lower case.
 *
 * The result depends only on the bytes, not on how they are chunked, and is final when `done`. Bytes that
 * are neither protocol are `done` without a name at once.
 */
export class DomainSniffer implements Sniffer {
  #protocol: Sniffer | undefined;

  look(bytes: Uint8Array): Sniffed {
    if (bytes.length === 0) return MORE;
    this.#protocol ??= bytes[0] === TLS_HANDSHAKE ? new TlsSniffer() : new HttpSniffer();
    return this.#protocol.look(bytes);
  }
}

/** Returns the domain in the first bytes of a stream, given in one piece. */
export const sniffDomain = (bytes: Uint8Array): Sniffed => new DomainSniffer().look(bytes);
