import { endOfLine, endOfString } from '../toml/slices.ts';

/**
 * Formats a valid TOML document in the canonical layout: only white space and line breaks change; values, comments and
 * their order do not. Lines stay lines; line breaks within arrays and inline tables stay as well.
 *
 * - nothing is indented but the lines inside brackets, by two spaces for each level
 * - `key = value`, `[a, b]`, `{ a = 1 }`; a space before a comment, or as many as it has
 * - one empty line above each header and the comments directly above it
 *
 * The text is without a byte order mark. Takes linear time.
 */
export function formatToml(text: string): string {
  const eol = eolOf(text);
  const lines = withGaps([...linesOf(text, eol)]);
  return lines.map((line) => line.text + eol).join('');
}

/** Returns the form of the first line break outside strings. */
function eolOf(text: string): string {
  for (const { kind, text: eol } of tokensOf(text)) if (kind === 'break') return eol;
  return '\n';
}

/** A line outside brackets; a value of several lines is one. */
interface Line {
  readonly kind: 'blank' | 'comment' | 'header' | 'pair';
  readonly text: string;
}

const BLANK: Line = { kind: 'blank', text: '' };

/** Adjusts empty lines: at most one in a row, none at the ends, and one above each header with its comments. */
function withGaps(lines: readonly Line[]): readonly Line[] {
  const result: Line[] = [];
  for (const line of lines) {
    if (line.kind === 'blank' && (result.length === 0 || result.at(-1)?.kind === 'blank')) continue;
    if (line.kind === 'header') openGap(result);
    result.push(line);
  }
  if (result.at(-1)?.kind === 'blank') result.pop();
  return result;
}

/** Puts an empty line above the comments that end `lines`. */
function openGap(lines: Line[]): void {
  let at = lines.length;
  while (at > 0 && lines[at - 1]?.kind === 'comment') at -= 1;
  if (at > 0 && lines[at - 1]?.kind !== 'blank') lines.splice(at, 0, BLANK);
}

function* linesOf(text: string, eol: string): Generator<Line> {
  let line = new LineWriter(eol);
  for (const token of tokensOf(text)) {
    if (token.kind !== 'break' || line.depth > 0) {
      line.add(token);
      continue;
    }
    yield line.done();
    line = new LineWriter(eol);
  }
  if (!line.isEmpty) yield line.done();
}

type Token =
  /** A name, a number, a string, or a part of one of them that white space or a dot follows. */
  | { readonly kind: 'word'; readonly text: string }
  /** A comment; `space` precedes it on its line. */
  | { readonly kind: 'comment'; readonly text: string; readonly space: string }
  | { readonly kind: 'open' | 'close' | 'comma' | 'equals'; readonly text: string }
  | { readonly kind: 'break'; readonly text: '\n' | '\r\n' };

const PUNCTUATION: ReadonlyMap<string, 'open' | 'close' | 'comma' | 'equals'> = new Map([
  ['[', 'open'],
  ['{', 'open'],
  [']', 'close'],
  ['}', 'close'],
  [',', 'comma'],
  ['=', 'equals'],
] as const);

/** The characters that end a bare word. */
const ENDS_WORD = new Set([...PUNCTUATION.keys(), ' ', '\t', '\r', '\n', '#', '"', "'"]);

/** Yields the tokens of a valid document. */
function* tokensOf(text: string): Generator<Token> {
  let last = 0;
  for (let at = 0; at < text.length;) {
    const char = text.charAt(at);
    const kind = PUNCTUATION.get(char);
    if (char === '\n') yield { kind: 'break', text: text[at - 1] === '\r' ? '\r\n' : '\n' };
    if (kind) yield { kind, text: char };
    if (kind || ' \t\r\n'.includes(char)) {
      at += 1;
      if (kind || char === '\n') last = at;
      continue;
    }
    const end = tokenEnd(text, at, char);
    const content = text.slice(at, end);
    yield char === '#'
      ? { kind: 'comment', text: content.trimEnd(), space: text.slice(last, at) }
      : { kind: 'word', text: content };
    at = end;
    last = end;
  }
}

function tokenEnd(text: string, at: number, char: string): number {
  if (char === '#') return endOfLine(text, at);
  if (char === '"' || char === "'") return endOfString(text, at);
  let end = at + 1;
  while (end < text.length && !ENDS_WORD.has(text.charAt(end))) end += 1;
  return end;
}

const STEP = '  ';

/** Writes one line, or several if brackets stay open. */
class LineWriter {
  readonly #parts: string[] = [];
  #previous: Token | undefined;
  #breaks = 0;
  depth = 0;
  #kind: Line['kind'] = 'blank';
  readonly #eol: string;

  constructor(eol: string) {
    this.#eol = eol;
  }

  get isEmpty(): boolean {
    return this.#previous === undefined;
  }

  add(token: Token): void {
    if (token.kind === 'break') {
      this.#breaks += 1;
      return;
    }
    if (this.#kind === 'blank') {
      this.#kind = token.kind === 'comment' ? 'comment' : token.kind === 'open' ? 'header' : 'pair';
    }
    if (token.kind === 'close') this.depth -= 1;
    this.#parts.push(this.#gapBefore(token), token.text);
    if (token.kind === 'open') this.depth += 1;
    this.#previous = token;
    this.#breaks = 0;
  }

  done(): Line {
    return { kind: this.#kind, text: this.#parts.join('') };
  }

  #gapBefore(token: Token): string {
    const previous = this.#previous;
    if (!previous) return '';
    if (this.#breaks === 0) return spaceBetween(previous, token);
    // No empty line at the start or the end of the brackets.
    const isInside = previous.kind !== 'open' && token.kind !== 'close';
    const blank = this.#breaks > 1 && isInside ? this.#eol : '';
    return blank + this.#eol + STEP.repeat(this.depth);
  }
}

function spaceBetween(previous: Token, next: Token): string {
  // Comments may be aligned.
  if (next.kind === 'comment') return next.space === '' ? ' ' : next.space;
  if (next.kind === 'comma') return '';
  if (previous.kind === 'open' && next.kind === 'close') return '';
  if (previous.text === '{' || next.text === '}') return ' ';
  if (previous.kind === 'open' || next.kind === 'close') return '';
  if (previous.kind === 'word' && next.kind === 'word') {
    // Parts of a dotted key; otherwise a date and its time.
    return previous.text.endsWith('.') || next.text.startsWith('.') ? '' : ' ';
  }
  return ' ';
}
