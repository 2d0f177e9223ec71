import { shownKeys } from './shown-keys.ts';

/** The syntactic context at the start of a line. `lost`: the text before it is not valid TOML. */
type LineStart = 'statement' | 'brackets' | 'text' | 'lost';

const HEADER = /^[ \t]*(?:\[[ \t\w.-]+\]|\[\[[ \t\w.-]+\]\])(?=[ \t]*(?:#|$))/;
const STATEMENT = /^[ \t]*(?:[\w-]+\.)*([\w-]+)[ \t]*=[ \t]*/;
/** An `@` may follow the credentials of a share link. */
const PLAIN_VALUE = /(?:"[^"\\@]*"|'[^'@]*'|[\w.:+-]+)(?=[ \t]*(?:#|$))/y;
const FIRST_WORD = /^[ \t]*([\w-]+)/;

/** The punctuation that shows the structure of a value. */
const STRUCTURE = /[ \t,={}[\]]+/y;
const INNER_KEY = /(["']?)([\w-]+)\1(?=[ \t]*=)/y;
const CLOSED_STRING =
  /"(?!"")((?:[^"\\]|\\.)*)"(?=[ \t]*(?:[,}\]#]|$))|'(?!'')([^']*)'(?=[ \t]*(?:[,}\]#]|$))/y;

/**
 * A line of a document as errors show it: keys, headers and brackets unchanged, each character of a
 * value replaced by a star, because it may be a secret. The value of a key that never holds a
 * secret is shown if nothing follows it on the line. Comments are masked: they may hold a secret
 * that was commented out.
 *
 * The line need not be valid TOML: everything from the first unexpected text on is masked. Tabs are
 * kept, so that columns are preserved.
 *
 * @param text the document
 * @param start offset of the line
 * @param end offset of its end, without the line break
 * @throws {KeysUnknownError}
 */
export function shownLine(text: string, start: number, end: number): string {
  const line = text.slice(start, end);
  const standing = standingAt(text, start);
  if (standing === 'statement') return shownStatement(line);
  return standing === 'brackets' ? shownParts(line, 0) : starred(line);
}

function shownStatement(line: string): string {
  const header = HEADER.exec(line)?.[0];
  if (header !== undefined) return header + shownTail(line.slice(header.length));
  const [key, last = ''] = STATEMENT.exec(line) ?? [];
  if (key !== undefined) {
    PLAIN_VALUE.lastIndex = key.length;
    const plain = shownKeys().disclosed.has(last) ? PLAIN_VALUE.exec(line)?.[0] : undefined;
    if (plain === undefined) return key + shownParts(line, key.length);
    const shown = key + plain;
    return shown + shownTail(line.slice(shown.length));
  }
  const [word = '', bare = ''] = FIRST_WORD.exec(line) ?? [];
  if (!shownKeys().known.has(bare)) return shownParts(line, 0);
  return word + starred(line.slice(word.length));
}

/** White space and a comment. */
function shownTail(tail: string): string {
  const hash = tail.indexOf('#');
  return hash < 0 ? tail : tail.slice(0, hash + 1) + starred(tail.slice(hash + 1));
}

/** The rest of the line from `from`, which is a value or a part of one. */
function shownParts(line: string, from: number): string {
  let shown = '';
  let at = from;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(line) ?? undefined;
    if (found) at += found[0].length;
    return found;
  };
  while (at < line.length) {
    const structure = take(STRUCTURE);
    if (structure) {
      shown += structure[0];
      continue;
    }
    const before = at;
    const key = take(INNER_KEY);
    if (key && shownKeys().known.has(key[2] ?? '')) {
      shown += key[0];
      continue;
    }
    at = before;
    const string = take(CLOSED_STRING);
    if (!string) break;
    const quote = string[0].charAt(0);
    shown += quote + starred(string[1] ?? string[2] ?? '') + quote;
  }
  return shown + starred(line.slice(at));
}

/** A star for every character except tabs, whose width depends on their column. */
const starred = (text: string): string => text.replaceAll(/[^\t]/gsu, '*');

const BASIC_TEXT = /"""(?:[^\\]|\\.)*?"""/sy;
const LITERAL_TEXT = /'''.*?'''/sy;
const STRING = /"(?:[^"\\\n]|\\[^\n])*"|'[^'\n]*'/y;
const COMMENT = /#[^\n]*/y;
const PLAIN = /[^"'#[\]{}\s]+/y;

/** Scans the document up to `end`, the start of a line, and returns the context there. */
function standingAt(text: string, end: number): LineStart {
  let depth = 0;
  /** The last token of a header or `key = value` that is not complete. */
  let last: string | undefined;
  /** Whether it is complete; text after an incomplete one may be its value. */
  let complete = true;
  for (let at = 0; at < end;) {
    const next = endOfToken(text, at);
    const token = text.slice(at, Math.max(next, at + 1));
    const char = token.charAt(0);
    const quoted = char === '"' || char === "'";
    if (quoted && (next < 0 || next > end)) {
      return text.startsWith(char.repeat(3), at) ? 'text' : 'lost';
    }
    at = next;
    if (char === '\n' && depth === 0) {
      if (!complete || last?.endsWith('=')) return 'lost';
      last = undefined;
    }
    if (char === '#' || /\s/.test(char)) continue;
    if (last === undefined) complete = char === '[';
    if (depth === 0 && !quoted && token.includes('=')) complete = true;
    if (char === '[' || char === '{') depth++;
    if (char === ']' || char === '}') depth--;
    if (depth < 0) return 'lost';
    last = token;
  }
  return depth > 0 ? 'brackets' : 'statement';
}

/** The end of the token at `at`: a string, a comment, a bracket, or a run of other characters. */
function endOfToken(text: string, at: number): number {
  const char = text.charAt(at);
  const triple = text.startsWith(char.repeat(3), at);
  if (char === '"') return endOf(triple ? BASIC_TEXT : STRING, text, at);
  if (char === "'") return endOf(triple ? LITERAL_TEXT : STRING, text, at);
  if (char === '#') return endOf(COMMENT, text, at);
  return Math.max(at + 1, endOf(PLAIN, text, at));
}

/** The end of a match at `at`; -1 without one. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}
