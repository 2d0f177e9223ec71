import { domainName, MORE, NO_NAME, type Sniffed, type Sniffer } from './sniffer.ts';

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
export class HttpSniffer implements Sniffer {
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
