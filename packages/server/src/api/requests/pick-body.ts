import { isUtf8 } from 'node:buffer';
import { WeirError } from '@weir/base';
import { BadRequest } from '../http/response.ts';

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
export class JsonSyntaxError extends WeirError {
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
export class JsonScanner {
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
