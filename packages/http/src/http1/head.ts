import {
  MessageError,
  parseField,
  type FieldLine,
  type FieldLines,
  listOf,
  valuesOf,
} from './message.ts';
import { blankControls, hasControl, isToken } from '../fields/field.ts';
import { FIELD_LINE_LIMIT, RESPONSE_FIELD_LINE_LIMIT } from '../limits.ts';

/** The version of a message, HTTP/1.0 or HTTP/1.1; a higher minor version is handled as 1.1 (RFC 9110 §2.5). */
export type Version = '1.0' | '1.1';

/** The request line and the header section of a request (RFC 9112 §3). */
export interface RequestHead {
  readonly method: string;
  /** The request target as in the request line. */
  readonly target: string;
  readonly version: Version;
  readonly fields: FieldLines;
}

/** The status line and the header section of a response (RFC 9112 §4). */
export interface ResponseHead {
  readonly version: Version;
  readonly status: number;
  readonly reason: string;
  readonly fields: FieldLines;
}

// Bytes above ASCII are invalid in a URI, but some clients send them; they are forwarded unchanged.
const TARGET = /^[\x21-\x7e\x80-\xff]+$/;

/**
 * Parses the head of a request, from its request line to the empty line at its end.
 *
 * The parser is strict where recipients differ, since request smuggling exploits such differences: lines must end in CR
 * LF; folded lines and spaces before a colon are rejected.
 *
 * @param validTarget matches acceptable targets; by default visible ASCII and bytes above ASCII.
 * @throws {MessageError} 400, 431 for too many lines, 505 for another major version.
 */
export function parseRequestHead(
  bytes: Uint8Array,
  fieldLimit = FIELD_LINE_LIMIT,
  validTarget = TARGET,
): RequestHead {
  const [start = '', ...lines] = strictLines(textOf(bytes));
  const parts = start.split(' ');
  const [method = '', target = '', protocol = ''] = parts;
  if (parts.length !== 3 || !isToken(method) || !validTarget.test(target)) {
    throw new MessageError(400, 'the request line is malformed');
  }
  return {
    method,
    target,
    version: parseVersion(protocol),
    fields: parseFields(lines, fieldLimit),
  };
}

/**
 * Parses the head of a response. It accepts errors of origins that other proxies and browsers accept, and that are
 * harmless since the head is regenerated: lines that end in a bare LF, folded lines, which are joined (RFC 9112 §5.2),
 * spaces before a colon (§5.1), fields whose name is not a token, which are dropped, as nginx does; in the status line
 * (§4) several spaces, a later version, a missing reason phrase and control characters in it.
 *
 * @throws {MessageError} for anything else.
 */
export function parseResponseHead(bytes: Uint8Array): ResponseHead {
  const [start = '', ...lines] = unfold(looseLines(textOf(bytes)));
  const fields = lines.map((line) => line.replace(/^([^:\s]+)[ \t]+:/, '$1:'));
  return responseOf(
    repairedStatusLine(start),
    fields.filter((line) => !hasOddName(line)),
    RESPONSE_FIELD_LINE_LIMIT,
  );
}

/** Repairs a status line: control characters, repeated spaces, and the version of origins that send HTTP/2 in HTTP/1. */
const repairedStatusLine = (start: string): string =>
  blankControls(start)
    .replace(/^(HTTP\/[1-9]\.[0-9]) +/, '$1 ')
    .replace(/^HTTP\/[2-9]\.[0-9]/, 'HTTP/1.1');

/** Whether a line has a name that is not a token; a line without a name is a different error. */
function hasOddName(line: string): boolean {
  const name = line.slice(0, Math.max(line.indexOf(':'), 0));
  return /^\S/.test(name) && !isToken(name) && !hasControl(name);
}

/**
 * Parses the head of a response as strictly as that of a request, for peers that are not known to make these errors; a
 * missing reason phrase is accepted.
 *
 * @throws {MessageError} for anything else.
 */
export function parseStrictResponseHead(bytes: Uint8Array, fieldLimit: number): ResponseHead {
  const [start = '', ...lines] = strictLines(textOf(bytes));
  return responseOf(start, lines, fieldLimit);
}

/** Serializes a head: start line, fields in their order, and the empty line at the end. */
export function headBytes(start: string, fields: FieldLines): Buffer {
  const lines = fields.map(({ name, value }) => `${name}: ${value}\r\n`).join('');
  return Buffer.from(`${start}\r\n${lines}\r\n`, 'latin1');
}

function responseOf(start: string, lines: readonly string[], fieldLimit: number): ResponseHead {
  const match = /^(HTTP\/[0-9]\.[0-9]) ([1-9][0-9]{2})(?: (.*))?$/.exec(start);
  if (!match) throw new MessageError(502, 'the status line is malformed');
  const [, protocol = '', status = '', reason = ''] = match;
  if (hasControl(reason)) throw new MessageError(502, 'the reason phrase has a control character');
  return {
    version: parseVersion(protocol),
    status: Number(status),
    reason,
    fields: parseFields(lines, fieldLimit),
  };
}

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');

/** Returns the lines of a head without the final empty line. A bare CR or LF is left in place. */
function strictLines(text: string): string[] {
  if (!text.endsWith('\r\n\r\n')) throw new MessageError(400, 'a line does not end in CR LF');
  return text.slice(0, -4).split('\r\n');
}

/** Returns lines up to the limit, folded ones included: a head of blank lines could have some 100,000. */
function looseLines(text: string): string[] {
  const most = 1 + RESPONSE_FIELD_LINE_LIMIT;
  const lines = text.replace(/\r?\n\r?\n$/, '').split(/\r?\n/, most + 1);
  if (lines.length > most) throw tooManyLines(RESPONSE_FIELD_LINE_LIMIT);
  return lines;
}

function unfold(lines: readonly string[]): string[] {
  const unfolded: string[] = [];
  for (const line of lines) {
    const previous = unfolded.length - 1;
    if (previous > 0 && (line.startsWith(' ') || line.startsWith('\t'))) {
      unfolded[previous] += ` ${line.replace(/^[ \t]+/, '')}`;
    } else {
      unfolded.push(line);
    }
  }
  return unfolded;
}

function parseVersion(protocol: string): Version {
  const match = /^HTTP\/([0-9])\.([0-9])$/.exec(protocol);
  if (!match) throw new MessageError(400, 'invalid HTTP version');
  if (match[1] !== '1') throw new MessageError(505, `${protocol} is not supported`);
  return match[2] === '0' ? '1.0' : '1.1';
}

function parseFields(lines: readonly string[], limit: number): FieldLine[] {
  if (lines.length > limit) throw tooManyLines(limit);
  return lines.map(parseField);
}

const tooManyLines = (limit: number): MessageError =>
  new MessageError(431, `more than ${limit} header lines`);

/** The way in which the length of a message body is determined (RFC 9112 §6.3). */
export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly length: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'until-close' };

/**
 * Determines the framing of a request body (RFC 9112 §6.3). Anything that recipients could interpret differently is
 * rejected.
 *
 * @throws {MessageError} 400.
 */
export function requestFraming({ fields, version }: RequestHead): Framing {
  const length = contentLength(fields);
  const codings = transferCodings(fields);
  if (codings === undefined) {
    return length === undefined || length === 0 ? { kind: 'none' } : { kind: 'length', length };
  }
  if (length !== undefined) {
    throw new MessageError(400, 'Content-Length and Transfer-Encoding in one request');
  }
  // RFC 9112 §6.1: Transfer-Encoding in an HTTP/1.0 request is a sign of request smuggling.
  if (version === '1.0') throw new MessageError(400, 'Transfer-Encoding in an HTTP/1.0 request');
  if (codings.length !== 1 || codings[0] !== 'chunked') {
    throw new MessageError(400, 'a transfer coding other than chunked');
  }
  return { kind: 'chunked' };
}

interface ResponseFraming {
  readonly body: Framing;
  /** Whether the framing determines where the next response begins. */
  readonly certain: boolean;
}

/**
 * Determines the framing of a response body (RFC 9112 §6.3). `method` is that of its request.
 *
 * If there are both Content-Length and Transfer-Encoding, the latter is used, and the connection is not reused.
 *
 * @throws {MessageError} 502.
 */
export function responseFraming(head: ResponseHead, method: string): ResponseFraming {
  if (method === 'HEAD' || hasNoBody(head.status)) return { body: { kind: 'none' }, certain: true };
  const codings = transferCodings(head.fields)?.filter((coding) => coding !== 'identity') ?? [];
  if (codings.length > 0) {
    if (codings.length !== 1 || codings[0] !== 'chunked') {
      throw new MessageError(502, 'a transfer coding other than chunked');
    }
    const alone = valuesOf(head.fields, 'content-length').length === 0;
    return { body: { kind: 'chunked' }, certain: alone && head.version === '1.1' };
  }
  const length = contentLength(head.fields);
  if (length === undefined) return { body: { kind: 'until-close' }, certain: false };
  return { body: length === 0 ? { kind: 'none' } : { kind: 'length', length }, certain: true };
}

/** Whether responses with this status never have a body, whatever their header fields. */
const hasNoBody = (status: number): boolean => status < 200 || status === 204 || status === 304;

/**
 * Returns the content length. Repetitions of the same length are valid (RFC 9112 §6.3); different lengths are an
 * attack.
 */
function contentLength(fields: FieldLines): number | undefined {
  let length: number | undefined;
  for (const value of valuesOf(fields, 'content-length')) {
    for (const part of value.split(',')) {
      const digits = /^[ \t]*([0-9]+)[ \t]*$/.exec(part)?.[1];
      const number = Number(digits ?? Number.NaN);
      if (!Number.isSafeInteger(number)) throw new MessageError(400, 'invalid Content-Length');
      if (length !== undefined && length !== number) {
        throw new MessageError(400, 'different values of Content-Length');
      }
      length = number;
    }
  }
  return length;
}

function transferCodings(fields: FieldLines): string[] | undefined {
  if (valuesOf(fields, 'transfer-encoding').length === 0) return undefined;
  return listOf(fields, 'transfer-encoding');
}
