import { ImportError } from '@weir/proxy/protocols/forms';

/** Maximum nesting of lists and objects; documents have about ten levels. */
const DEEPEST = 64;

/** Maximum number of values of a document, which bounds their memory. */
const MOST_VALUES = 3_000_000;

/**
 * Parses JSON with comments and trailing commas, which sing-box and Xray accept.
 * @throws {ImportError}
 */
export function parseJson(text: string): unknown {
  const plain = withoutComments(text);
  refuseLarge(plain);
  try {
    return JSON.parse(plain);
  } catch {
    throw new ImportError('invalid JSON');
  }
}

/** Rejects too deeply nested brackets, or too many values, before they are parsed. */
function refuseLarge(text: string): void {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at = text[at] === '"' ? endOfPart(text, at) : at + 1) {
    const char = text[at];
    if (char === '[' || char === '{') depth++;
    else if (char === ']' || char === '}') depth--;
    else if (char !== ',') continue;
    if (depth > DEEPEST) throw new ImportError(`JSON nested more than ${DEEPEST} levels deep`);
    if (++values > MOST_VALUES) throw new ImportError(`JSON with more than ${MOST_VALUES} values`);
  }
}

/** Removes comments and trailing commas from JSON, which sing-box and Xray accept. */
export function withoutComments(text: string): string {
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length;) {
    const next = endOfPart(text, at);
    const isText = text[at] === '"' || (next === at + 1 && text[at] !== '#');
    const isLastComma = text[at] === ',' && /[}\]]/.test(firstToken(text, next));
    if (!isText || isLastComma) {
      parts.push(text.slice(from, at), ' ');
      from = next;
    }
    at = next;
  }
  parts.push(text.slice(from));
  return parts.join('');
}

/** The index behind the string or comment at `at`; for any other character, the next index. */
function endOfPart(text: string, at: number): number {
  const after = (mark: string): number => {
    const found = text.indexOf(mark, at + (mark === '\n' ? 1 : 2));
    return found < 0 ? text.length : found + mark.length;
  };
  if (text[at] === '#' || text.startsWith('//', at)) return after('\n');
  if (text.startsWith('/*', at)) return after('*/');
  if (text[at] !== '"') return at + 1;
  let end = at + 1;
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  return end + 1;
}

/** The first character from `at` that is neither white space nor part of a comment; empty at the end. */
function firstToken(text: string, at: number): string {
  return text.charAt(startOfToken(text, at));
}

function startOfToken(text: string, at: number): number {
  let next = at;
  while (next < text.length) {
    if (/\s/.test(text.charAt(next))) next++;
    else if (text[next] === '#' || text.startsWith('//', next) || text.startsWith('/*', next))
      next = endOfPart(text, next);
    else break;
  }
  return next;
}

/** Values that cannot be entries, but may precede entries in a list. */
const ODD_FIRST = /^(?:null|true|false|\d{1,20}|\[\s*\])\s*,/;

/**
 * Whether a text is a JSON object or list behind comments, judged by its first two characters. `[` also begins a
 * section of other formats.
 */
export function looksLikeJson(text: string): boolean {
  const start = startOfToken(text, 0);
  if (text[start] !== '[') return text[start] === '{';
  const next = startOfToken(text, start + 1);
  return ['{', '"'].includes(text.charAt(next)) || ODD_FIRST.test(text.slice(next, next + 32));
}
