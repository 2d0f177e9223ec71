import { isUtf8 } from 'node:buffer';
import { GrowingBytes } from '@weir/base/bytes';
import type { FlowSelector } from '@weir/proxy/tracker';
import { ANY_FILE, type IfMatch } from './contract.ts';
import { BadPath, BadRequest } from './http/response.ts';
import type { IncomingMessage } from 'node:http';
import { WeirError } from '@weir/base';

const DIGITS = /^\+?\d+$/;
/** The maximum of a `u64`, and its number of digits. */
const MAX_U64 = (1n << 64n) - 1n;
const MAX_DIGITS = 20;

/** Parses an unsigned 64-bit integer; accepts the same texts as Rust's `u64::from_str`. */
export function parseU64(text: string): { readonly value: bigint } | { readonly error: string } {
  if (text === '') return { error: 'cannot parse integer from empty string' };
  if (!DIGITS.test(text)) return { error: 'invalid digit found in string' };
  const digits = text.replace(/^\+?0*/, '');
  const value = digits.length <= MAX_DIGITS ? BigInt(digits) : MAX_U64 + 1n;
  return value <= MAX_U64 ? { value } : { error: 'number too large to fit in target type' };
}

const ESCAPE = /%([0-9a-f]{2})/gi;

/** Percent-decodes a text; a `%` without two hexadecimal digits after it is kept. */
export function percentDecode(text: string): Buffer {
  const bytes = text.replaceAll(ESCAPE, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  // A request target has one character per byte, and so has the result.
  return Buffer.from(bytes, 'latin1');
}

/**
 * Decodes a path segment to text.
 * @throws {BadPath} when its bytes are not UTF-8
 */
export function textParameter(name: string, segment: string): string {
  const bytes = percentDecode(segment);
  if (!isUtf8(bytes)) throw new BadPath(`Invalid UTF-8 in \`${name}\``);
  return bytes.toString();
}

/**
 * Decodes a path segment to a number.
 * @throws {BadPath} when it is not an unsigned 64-bit integer
 */
export function u64Parameter(name: string, segment: string): bigint {
  const text = textParameter(name, segment);
  const parsed = parseU64(text);
  if ('error' in parsed) throw new BadPath(`Cannot parse \`${text}\` to a \`u64\``);
  return parsed.value;
}

const FIELDS = ['outbound', 'inbound', 'session', 'user'] as const;
type Field = (typeof FIELDS)[number];

const isField = (name: string): name is Field => (FIELDS as readonly string[]).includes(name);
const EXPECTED = `expected one of ${FIELDS.map((field) => `\`${field}\``).join(', ')}`;

const reject = (reason: string): BadRequest =>
  new BadRequest(`Failed to deserialize query string: ${reason}`);

/**
 * Parses the query string that selects flows to close. A field without a value selects the empty
 * text; no field at all selects every flow.
 *
 * @throws {BadRequest} for the first field that is unknown, repeated or not a valid number.
 */
export function parseSelector(query: string): FlowSelector {
  const texts = new Map<Field, string>();
  let session: number | undefined;
  for (const [name, value] of formPairs(query)) {
    if (!isField(name)) throw reject(`unknown field \`${name}\`, ${EXPECTED}`);
    if (texts.has(name)) throw reject(`duplicate field \`${name}\``);
    texts.set(name, value);
    if (name !== 'session') continue;
    const parsed = parseU64(value);
    if ('error' in parsed) throw reject(`session: ${parsed.error}`);
    // Ids count up from 1 and stay below 2^53, so rounding a larger number matches none.
    session = Number(parsed.value);
  }
  return {
    outbound: texts.get('outbound'),
    inbound: texts.get('inbound'),
    session,
    user: texts.get('user'),
  };
}

/** Name and value pairs of `application/x-www-form-urlencoded`; invalid UTF-8 is replaced. */
function formPairs(query: string): [name: string, value: string][] {
  const decode = (text: string): string => percentDecode(text.replaceAll('+', ' ')).toString();
  return query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [name = ''] = pair.split('=', 1);
      return [decode(name), decode(pair.slice(name.length + 1))];
    });
}

/** One strong entity tag: quoted, without a quote or a comma inside. */
const ONE_TAG = /^"[^",]*"$/;
/** Characters other than visible ASCII, space and tab. */
const FOREIGN = /[^\t\x20-\x7e]/;

/**
 * Parses an `If-Match` header (RFC 9110 §13.1.1); only `*` and a single strong tag are accepted.
 * @throws {BadRequest} for weak tags, lists and anything else.
 */
export function parseIfMatch(header: string | undefined): IfMatch {
  if (header === undefined) return ANY_FILE;
  if (!FOREIGN.test(header)) {
    const value = header.trim();
    if (value === '*') return ANY_FILE;
    if (ONE_TAG.test(value)) return { kind: 'is', etag: value };
  }
  throw new BadRequest('If-Match takes * or the one entity tag that an ETag header gave');
}

/** The longest request body that is accepted, in bytes. */
const MAX_BODY = 2_097_152;

/**
 * Maximum bytes of an oversized body that are still read. A client may write its whole request before it reads the
 * response; closing earlier would lose the response.
 */
export const MAX_DISCARDED = 64 << 20;

/** `application/json` or a type built on it (RFC 6839 §3.1), with or without parameters. */
const JSON_TYPE = /^application\/(?:[\w!#$&^.+-]+\+)?json[ \t]*(?:;|$)/i;

/** @throws {BadRequest} when the content type is not JSON. */
export function requireJson(contentType: string | undefined): void {
  if (contentType !== undefined && JSON_TYPE.test(contentType)) return;
  throw new BadRequest('Expected request with `Content-Type: application/json`');
}

const tooLong = (): BadRequest =>
  new BadRequest('Failed to buffer the request body: length limit exceeded');

/**
 * Reads a request body. `invite` is called for a client that waits for `100 Continue`.
 * @throws {BadRequest} when the body is too long, or ends before it is complete.
 */
export async function readBody(request: IncomingMessage, invite?: () => void): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > (invite ? MAX_BODY : MAX_DISCARDED)) throw tooLong();
  invite?.();
  const body = new GrowingBytes();
  let length = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length <= MAX_BODY) body.append(chunk);
      if (length > MAX_DISCARDED) break;
    }
  } catch (error) {
    throw new BadRequest(
      `Failed to buffer the request body: ${error instanceof Error ? error.message : 'aborted'}`,
    );
  }
  if (length > MAX_BODY) throw tooLong();
  return body.buffer;
}

const KEY = 'target';

/**
 * Parses `{"target": "…"}`: one object with this one key.
 * @throws {BadRequest} for invalid JSON, or JSON of another shape, whichever comes first
 */
export function parsePickBody(bytes: Buffer): string {
  try {
    if (!isUtf8(bytes)) throw new JsonSyntaxError('invalid unicode code point');
    return readPick(new JsonScanner(bytes.toString()));
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new BadRequest(`Failed to parse the request body as JSON: ${error.message}`);
  }
}

function readPick(json: JsonScanner): string {
  if (!json.takes('{')) throw wrongType(json, '', 'struct Pick');
  let target: string | undefined;
  if (!json.takes('}')) {
    do target = readEntry(json, target);
    while (json.takes(','));
    if (!json.takes('}')) throw json.unexpected('expected `,` or `}`', 'an object');
  }
  if (target === undefined) throw wrongShape(json, `missing field \`${KEY}\``);
  if (json.peek() !== '') throw json.syntax('trailing characters');
  return target;
}

function readEntry(json: JsonScanner, before: string | undefined): string {
  if (json.peek() !== '"') {
    // Here `}` follows a comma: an empty object has been handled already.
    const isEnd = json.peek() === '}';
    throw json.unexpected(isEnd ? 'trailing comma' : 'key must be a string', 'an object');
  }
  const key = json.string();
  if (key !== KEY) throw wrongShape(json, `${key}: unknown field \`${key}\`, expected \`${KEY}\``);
  if (before !== undefined) throw wrongShape(json, `${KEY}: duplicate field \`${KEY}\``);
  if (!json.takes(':')) throw json.unexpected('expected `:`', 'an object');
  if (json.peek() !== '"') throw wrongType(json, `${KEY}: `, 'a string');
  return json.string();
}

function wrongType(json: JsonScanner, path: string, wanted: string): BadRequest {
  const found = json.describe();
  return wrongShape(json, `${path}invalid type: ${found}, expected ${wanted}`);
}

const wrongShape = (json: JsonScanner, reason: string): BadRequest =>
  new BadRequest(
    `Failed to deserialize the JSON body into the target type: ${reason} at ${json.position()}`,
  );

/** Malformed JSON; the message ends with the place. */
class JsonSyntaxError extends WeirError {
  constructor(message: string) {
    super('json_syntax', message);
  }
}

const WHITE_SPACE = /[ \t\r\n]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?<rest>\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)?/y;
const LITERALS = ['true', 'false', 'null'] as const;

/**
 * Reads JSON token by token, so that the first error is the one reported and no unneeded value is built. The texts are
 * those of Rust's serde_json.
 */
class JsonScanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The next character that is not white space, without consuming it; `''` at the end. */
  peek(): string {
    WHITE_SPACE.lastIndex = this.#at;
    WHITE_SPACE.test(this.#text);
    this.#at = WHITE_SPACE.lastIndex;
    return this.#text.charAt(this.#at);
  }

  /** Consumes the next character if it is `wanted`. */
  takes(wanted: string): boolean {
    if (this.peek() !== wanted) return false;
    this.#at++;
    return true;
  }

  /** Consumes a string, whose opening quote is next, and returns its value. */
  string(): string {
    const start = this.#at;
    for (this.#at++; this.#text.charAt(this.#at) !== '"'; this.#at++) {
      const character = this.#text.charAt(this.#at);
      if (character === '') throw this.syntax('EOF while parsing a string');
      if (character < ' ') {
        throw this.syntax('control character (\\u0000-\\u001F) found while parsing a string');
      }
      if (character === '\\') this.#at++;
    }
    this.#at++;
    return this.#unescape(this.#text.slice(start, this.#at));
  }

  /** Consumes the next value, or the start of a nested one, and describes it. */
  describe(): string {
    const first = this.peek();
    if (first === '"') return `string ${JSON.stringify(this.string())}`;
    if (first === '[' || first === '{') {
      this.#at++;
      return first === '[' ? 'sequence' : 'map';
    }
    const literal = LITERALS.find((word) => this.#text.startsWith(word, this.#at));
    if (literal !== undefined) {
      this.#at += literal.length;
      return literal === 'null' ? literal : `boolean \`${literal}\``;
    }
    return this.#describeNumber(first);
  }

  /** An error at the current position. */
  syntax(message: string): JsonSyntaxError {
    return new JsonSyntaxError(`${message} at ${this.position()}`);
  }

  /** An error at the end of the text, or at another character than `wanted`. */
  unexpected(wanted: string, what: string): JsonSyntaxError {
    return this.syntax(this.peek() === '' ? `EOF while parsing ${what}` : wanted);
  }

  /** Position in the text: lines from 1, bytes of the line so far. */
  position(): string {
    const before = this.#text.slice(0, this.#at);
    const lineStart = before.lastIndexOf('\n') + 1;
    const line = before.split('\n').length;
    return `line ${line} column ${Buffer.byteLength(before.slice(lineStart))}`;
  }

  #describeNumber(first: string): string {
    NUMBER.lastIndex = this.#at;
    const match = NUMBER.exec(this.#text);
    if (!match) {
      throw first === '-'
        ? this.syntax('invalid number')
        : this.unexpected('expected value', 'a value');
    }
    this.#at = NUMBER.lastIndex;
    const kind = match.groups?.['rest'] === undefined ? 'integer' : 'floating point';
    return `${kind} \`${match[0]}\``;
  }

  #unescape(quoted: string): string {
    let value: unknown;
    try {
      value = JSON.parse(quoted);
    } catch {
      throw this.syntax('invalid escape');
    }
    if (typeof value !== 'string' || !value.isWellFormed()) {
      throw this.syntax('lone leading surrogate in hex escape');
    }
    return value;
  }
}
