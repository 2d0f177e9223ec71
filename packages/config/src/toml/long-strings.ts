/**
 * A long string and its delimiters. The parser passes the characters of a string as arguments of
 * one call, and the stack has room for about 100,000: longer strings are parsed in pieces.
 */
export interface LongString {
  /** The start of the opening delimiter and the end of the closing one. */
  readonly start: number;
  readonly end: number;
  readonly delimiter: Delimiter;
}

type Delimiter = '"' | "'" | '"""' | "'''";

/** The longest string, or piece of one, that is passed to the parser, in characters. */
const LONGEST = 16_384;

/** The start of a string or a comment. */
const BEGINNING = /["'#]/g;

/** Significant characters within single-line and multi-line strings. */
const BASIC = /["\\\n]/g;
const LITERAL = /['\n]/g;
const MULTILINE_BASIC = /"""|\\/g;
const MULTILINE_LITERAL = /'''/g;

/**
 * Returns the strings of a document that are too long for the parser. Invalid syntax is left for the parser
 * to report.
 */
export function longStrings(text: string): LongString[] {
  const found: LongString[] = [];
  for (let at = indexOf(BEGINNING, text, 0); at >= 0; at = indexOf(BEGINNING, text, at)) {
    if (text[at] === '#') {
      const end = text.indexOf('\n', at);
      if (end < 0) return found;
      at = end;
      continue;
    }
    const delimiter = delimiterAt(text, at);
    const end = endOf(text, at + delimiter.length, delimiter);
    if (end < 0) return found;
    if (end - at > LONGEST) found.push({ start: at, end, delimiter });
    at = end;
  }
  return found;
}

/** Returns the document with short strings in place of the long ones, and all other text unchanged in place. */
export function withoutLongStrings(text: string, long: readonly LongString[]): string {
  const parts: string[] = [];
  let from = 0;
  for (const [index, { start, end }] of long.entries()) {
    parts.push(text.slice(from, start), placeholder(index).padEnd(end - start));
    from = end;
  }
  parts.push(text.slice(from));
  return parts.join('');
}

/** Returns a unique string, so that different keys stay different; a real key has no control character. */
const placeholder = (index: number): string => `"\\u0001${index}"`;

/** Returns the end of the placeholder of a long string. */
export const placeholderEnd = ({ start }: LongString, index: number): number =>
  start + placeholder(index).length;

/** A part of a long string, as a document in which it is the value of `x`. */
export interface Piece {
  readonly document: string;
  /** Offset that, added to an index in this document, gives the index in the whole document. */
  readonly offset: number;
}

/** Yields the content of a long string in pieces; escapes, quotes and line ends are not divided. */
export function* piecesOf(text: string, { start, end, delimiter }: LongString): Generator<Piece> {
  // A line feed directly after the opening delimiter is not part of the content.
  const isMultiline = delimiter.length === 3;
  const opening = `x=${delimiter}${isMultiline ? '\n' : ''}`;
  const last = end - delimiter.length;
  let from = start + delimiter.length;
  if (isMultiline && text.startsWith('\r\n', from)) from += 2;
  else if (isMultiline && text[from] === '\n') from += 1;
  while (from < last) {
    let to = from;
    while (to < last && to - from < LONGEST) to = unitEnd(text, to, delimiter);
    const content = text.slice(from, Math.min(to, last));
    yield { document: opening + content + delimiter, offset: from - opening.length };
    from = to;
  }
}

/** Returns the end of the unit at `at`: a character, an escape, a pair of quotes, or a line end. */
function unitEnd(text: string, at: number, delimiter: Delimiter): number {
  const code = text.codePointAt(at) ?? 0;
  if (code > 0xffff || text.startsWith('\r\n', at)) return at + 2;
  const char = text.charAt(at);
  if (char === '\\' && delimiter.startsWith('"')) return escapeEnd(text, at);
  // At most two quotes may precede the three of the closing delimiter.
  return delimiter.startsWith(char) && text[at + 1] === char ? at + 2 : at + 1;
}

const ESCAPE_SIZES: Readonly<Record<string, number>> = { u: 6, U: 10, x: 4 };

function escapeEnd(text: string, at: number): number {
  const size = ESCAPE_SIZES[text.charAt(at + 1)];
  if (size !== undefined) return at + size;
  let end = at + 1;
  // At the end of a line, the escape includes all white space that follows.
  while (end < text.length && ' \t\r\n'.includes(text.charAt(end))) end++;
  return Math.max(end, at + 2);
}

/** Returns the offset after the string that starts at `at`; -1 if it is not closed. */
export function endOfClosed(text: string, at: number): number {
  const delimiter = delimiterAt(text, at);
  return endOf(text, at + delimiter.length, delimiter);
}

function delimiterAt(text: string, at: number): Delimiter {
  if (text.startsWith('"""', at)) return '"""';
  if (text.startsWith("'''", at)) return "'''";
  return text[at] === '"' ? '"' : "'";
}

/** Returns the offset after the closing delimiter of the string whose content starts at `from`; -1 if there is none. */
function endOf(text: string, from: number, delimiter: Delimiter): number {
  switch (delimiter) {
    case '"':
      return lineEnd(BASIC, text, from);
    case "'":
      return lineEnd(LITERAL, text, from);
    case '"""':
      return multilineEnd(MULTILINE_BASIC, text, from);
    case "'''":
      return multilineEnd(MULTILINE_LITERAL, text, from);
    default:
      return delimiter satisfies never;
  }
}

function lineEnd(special: RegExp, text: string, from: number): number {
  let at = indexOf(special, text, from);
  while (at >= 0 && text[at] === '\\') at = indexOf(special, text, at + 2);
  return at < 0 || text[at] === '\n' ? -1 : at + 1;
}

function multilineEnd(special: RegExp, text: string, from: number): number {
  let at = indexOf(special, text, from);
  while (at >= 0 && text[at] === '\\') at = indexOf(special, text, at + 2);
  if (at < 0) return -1;
  // Up to two quotes of the content may precede the delimiter.
  const quote = text[at];
  let end = at + 3;
  while (end < at + 5 && text[end] === quote) end++;
  return end;
}

function indexOf(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? -1;
}
