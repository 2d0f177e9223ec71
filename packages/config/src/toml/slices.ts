/**
 * Approximate number of characters that are parsed at once. The parser's tree takes a hundred bytes or more for each:
 * the tree of ten megabytes would take over a gigabyte, while that of a slice is soon collected.
 */
export const SLICE = 8 * 1024;

/** A part of a document, in UTF-16 offsets; the end is excluded. */
export interface Slice {
  readonly start: number;
  readonly end: number;
}

/**
 * Divides a TOML document at table headers into slices of about `length` characters, or of a single
 * larger table. The document is valid TOML if and only if each slice is, except for tables that are
 * defined twice. Takes linear time.
 *
 * A slice may begin inside an element of an array of tables, with `[a.b]` or `[[a.b]]`, and then ends before the
 * next `[[a]]`: after its own tables alone, that header would define `a` as something else.
 */
export function* slicesOf(text: string, length = SLICE): Generator<Slice> {
  let start = 0;
  let depth = 0;
  let headers = new SliceHeaders();
  if (isHeader(text, 0)) headers.add(headerAt(text, 0));
  for (let at = 0; at < text.length;) {
    const char = text.charCodeAt(at);
    at = endOfToken(text, at, char);
    depth += nestingOf(char);
    if (char !== LINE_FEED || depth > 0 || !isHeader(text, at)) continue;
    const header = headerAt(text, at);
    if (at - start >= length || headers.conflictWith(header)) {
      yield { start, end: at };
      start = at;
      headers = new SliceHeaders();
    }
    headers.add(header);
  }
  yield { start, end: text.length };
}

/** The header of a table. */
interface HeaderPath {
  /** The path of the header, and those of the enclosing tables, outermost first: each as one text. */
  readonly paths: readonly string[];
  /** Whether the header begins an element of an array of tables. */
  readonly isArray: boolean;
}

/** The headers of one slice so far; `undefined` stands for an unusual one, which has a separate slice. */
class SliceHeaders {
  /** Arrays of tables with an element that begins in the slice. */
  readonly #elements = new Set<string>();
  /** Enclosing tables of headers, except for `#elements`. */
  readonly #parents = new Set<string>();
  #isFull = false;

  /** Whether a header begins an element of a table that is not an array in this slice. */
  conflictWith(header: HeaderPath | undefined): boolean {
    if (!header || this.#isFull) return true;
    const path = header.paths.at(-1);
    return header.isArray && path !== undefined && this.#parents.has(path);
  }

  add(header: HeaderPath | undefined): void {
    this.#isFull = !header;
    if (!header) return;
    for (const parent of header.paths.slice(0, -1)) {
      if (!this.#elements.has(parent)) this.#parents.add(parent);
    }
    if (header.isArray) this.#elements.add(header.paths.at(-1) ?? '');
  }
}

/**
 * Depth of the deepest usual header. A deeper or longer one is unusual, as is one with an escape: no table of a
 * configuration needs it.
 */
const DEEPEST_HEADER = 8;
const LONGEST_NAME = 256;

/** Returns the header at the start of the line at `at`; `undefined` for an unusual one. */
function headerAt(text: string, at: number): HeaderPath | undefined {
  let next = afterSpace(text, at) + 1;
  const isArray = text.charCodeAt(next) === LEFT_BRACKET;
  if (isArray) next++;
  const paths: string[] = [];
  while (paths.length < DEEPEST_HEADER) {
    const start = afterSpace(text, next);
    const end = endOfName(text, start);
    const name = text.slice(start, end);
    if (name === '' || name.length > LONGEST_NAME || name.includes('\\')) return undefined;
    const outer = paths.at(-1);
    const plain = /^["']/.test(name) ? name.slice(1, -1) : name;
    paths.push(outer === undefined ? plain : `${outer}\n${plain}`);
    next = afterSpace(text, end);
    if (text.charCodeAt(next) === RIGHT_BRACKET) return { paths, isArray };
    if (text.charCodeAt(next) !== DOT) return undefined;
    next++;
  }
  return undefined;
}

/** Returns the end of the bare or quoted name at `at`; `at` itself if there is none. */
function endOfName(text: string, at: number): number {
  const char = text.charCodeAt(at);
  if (char === QUOTE || char === APOSTROPHE) return endOfString(text, at);
  let end = at;
  while (end - at <= LONGEST_NAME && /[\w-]/.test(text.charAt(end))) end++;
  return end;
}

/** The elements of a long array of a slice, in UTF-16 offsets of the document. */
export interface LongArray {
  /** Offset of the array's opening bracket. */
  readonly open: number;
  /** Offset of the array's closing bracket. */
  readonly close: number;
  /** Offsets of the array's pieces of about `SLICE` characters, each after a comma of this array. */
  readonly pieces: readonly number[];
}

/**
 * Returns the outermost arrays of a slice that are long enough to be parsed in pieces. An array is valid if
 * and only if each piece is the valid content of an array. Takes linear time.
 */
export function longArraysOf(text: string, { start, end }: Slice, length = SLICE): LongArray[] {
  const arrays: LongArray[] = [];
  let depth = 0;
  let open = start;
  let pieces: number[] = [];
  for (let at = start; at < end;) {
    const char = text.charCodeAt(at);
    const next = endOfToken(text, at, char);
    const nesting = nestingOf(char);
    if (nesting > 0 && depth === 0) {
      open = at;
      pieces = char === LEFT_BRACKET ? [next] : [];
    }
    depth += nesting;
    if (nesting < 0 && depth === 0 && pieces.length > 1) arrays.push({ open, close: at, pieces });
    if (char === COMMA && depth === 1 && next - (pieces.at(-1) ?? Infinity) >= length) {
      pieces.push(next);
    }
    at = next;
  }
  return arrays;
}

const LINE_FEED = 0x0a;
const TAB = 0x09;
const SPACE = 0x20;
const QUOTE = 0x22;
const HASH = 0x23;
const APOSTROPHE = 0x27;
const COMMA = 0x2c;
const DOT = 0x2e;
const LEFT_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const RIGHT_BRACKET = 0x5d;
const LEFT_BRACE = 0x7b;
const RIGHT_BRACE = 0x7d;

/** Returns the change of the nesting depth at a bracket or brace. */
function nestingOf(char: number): -1 | 0 | 1 {
  if (char === LEFT_BRACKET || char === LEFT_BRACE) return 1;
  return char === RIGHT_BRACKET || char === RIGHT_BRACE ? -1 : 0;
}

/** Returns the end of the comment or string that begins with `char` at `at`; for other characters, the next one. */
function endOfToken(text: string, at: number, char: number): number {
  if (char === HASH) return endOfLine(text, at);
  return char === QUOTE || char === APOSTROPHE ? endOfString(text, at) : at + 1;
}

/** Whether the line that starts at `at`, outside any value, is a table header. */
const isHeader = (text: string, at: number): boolean =>
  text.charCodeAt(afterSpace(text, at)) === LEFT_BRACKET;

/** Returns the offset of the first character from `at` on that is neither a space nor a tab. */
function afterSpace(text: string, at: number): number {
  let first = at;
  while (text.charCodeAt(first) === SPACE || text.charCodeAt(first) === TAB) first++;
  return first;
}

/** Returns the offset of the next line feed, or of the end of the document. */
export function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end < 0 ? text.length : end;
}

/**
 * Returns the offset after the string that starts at `at`. A single-line string ends at the end of its line at the
 * latest.
 */
export function endOfString(text: string, at: number): number {
  const quote = text.charCodeAt(at);
  const isLong = text.charCodeAt(at + 1) === quote && text.charCodeAt(at + 2) === quote;
  let next = at + (isLong ? 3 : 1);
  for (; next < text.length; next++) {
    const char = text.charCodeAt(next);
    if (char === BACKSLASH && quote === QUOTE) next++;
    else if (char === LINE_FEED && !isLong) return next;
    else if (char === quote) {
      if (!isLong) return next + 1;
      if (text.charCodeAt(next + 1) !== quote || text.charCodeAt(next + 2) !== quote) continue;
      next += 3;
      // Two more may precede the three that close it.
      for (let more = 0; more < 2 && text.charCodeAt(next) === quote; more++) next++;
      return next;
    }
  }
  return text.length;
}
