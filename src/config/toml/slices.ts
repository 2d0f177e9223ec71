/**
 * Characters of a document that are parsed at once, about. The parser's tree takes some hundred bytes for
 * each: that of ten megabytes would take more than one gigabyte, and that of a slice is garbage soon.
 */
export const SLICE = 8 * 1024;

/** A part of a document, in UTF-16 offsets; the end is excluded. */
export interface Slice {
  readonly start: number;
  readonly end: number;
}

/**
 * Divides a TOML document before headers of tables, into slices of about `length` or a single table each. If
 * each is valid TOML, then so is the whole, but for tables that are defined twice; if one is not, the whole
 * is not. Takes linear time.
 */
export function* slicesOf(text: string, length = SLICE): Generator<Slice> {
  let start = 0;
  let depth = 0;
  for (let at = 0; at < text.length;) {
    const char = text.charCodeAt(at);
    at = endOfToken(text, at, char);
    depth += nestingOf(char);
    if (char !== LINE_FEED || depth > 0 || at - start < length || !isHeader(text, at)) continue;
    yield { start, end: at };
    start = at;
  }
  yield { start, end: text.length };
}

/** The elements of a long array of a slice, in UTF-16 offsets of the document. */
export interface LongArray {
  /** Of its first bracket. */
  readonly open: number;
  /** Of its last. */
  readonly close: number;
  /** Where its pieces of about `SLICE` characters begin, each behind a comma of the array's own. */
  readonly pieces: readonly number[];
}

/**
 * The arrays of a slice, outside of others and of inline tables, that are so long that they are parsed in
 * pieces: if each piece is the valid content of an array, then so is the whole; if one is not, the whole is
 * not. Takes linear time.
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
const LEFT_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const RIGHT_BRACKET = 0x5d;
const LEFT_BRACE = 0x7b;
const RIGHT_BRACE = 0x7d;

/** What a bracket or brace adds to the depth of nesting. */
function nestingOf(char: number): -1 | 0 | 1 {
  if (char === LEFT_BRACKET || char === LEFT_BRACE) return 1;
  return char === RIGHT_BRACKET || char === RIGHT_BRACE ? -1 : 0;
}

/** The end of the comment or string that begins with `char` at `at`; of any other, the next character. */
function endOfToken(text: string, at: number, char: number): number {
  if (char === HASH) return endOfLine(text, at);
  return char === QUOTE || char === APOSTROPHE ? endOfString(text, at) : at + 1;
}

/** Whether the line that starts at `at` is the header of a table, outside of any value. */
function isHeader(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first) === SPACE || text.charCodeAt(first) === TAB) first++;
  return text.charCodeAt(first) === LEFT_BRACKET;
}

/** Where the line feed is, or the end of the document. */
function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end < 0 ? text.length : end;
}

/** Behind the string that starts at `at`. One of a single line ends with its line at the latest. */
function endOfString(text: string, at: number): number {
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
      // Two more may stand before the three that close it.
      for (let more = 0; more < 2 && text.charCodeAt(next) === quote; more++) next++;
      return next;
    }
  }
  return text.length;
}
