import { replaceUnprintable } from '@weir/base/printable';
import type { Span } from '@weir/proxy/schema';

/** Characters of a basic string with an escape of their own (TOML 1.0, "String"). */
const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': String.raw`\"`,
  '\\': String.raw`\\`,
  '\b': String.raw`\b`,
  '\t': String.raw`\t`,
  '\n': String.raw`\n`,
  '\f': String.raw`\f`,
  '\r': String.raw`\r`,
};

// oxlint-disable-next-line no-control-regex -- it searches for control characters
const ESCAPED = /["\\\u0000-\u001f\u007f]/g;

/** Formats `value` as a basic string in double quotes; only characters that need it are escaped. */
export function basicString(value: string): string {
  const body = value.replace(ESCAPED, (char) => SHORT_ESCAPES[char] ?? unicodeEscape(char));
  return `"${body}"`;
}

const unicodeEscape = (char: string): string =>
  String.raw`\u${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;

/** Escapes unprintable characters in basic strings, for output that may go to a terminal. */
export const terminalSafe = (text: string): string =>
  replaceUnprintable(text, (codePoint) =>
    codePoint > 0xffff
      ? String.raw`\U${codePoint.toString(16).padStart(8, '0')}`
      : String.raw`\u${codePoint.toString(16).padStart(4, '0')}`,
  );

/** Formats `key` as a bare key if TOML allows it, otherwise as a basic string. */
export const keyText = (key: string): string =>
  /^[A-Za-z0-9_-]+$/.test(key) ? key : basicString(key);

/** Returns a dotted key, or the text between the brackets of a header. */
export const dottedKey = (path: readonly string[]): string => path.map(keyText).join('.');

/** Returns the start of the line that contains `offset`. */
export const lineStart = (text: string, offset: number): number =>
  offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;

/** Returns the offset of the line break (`\n` or `\r\n`) after `offset`, or of the end. */
export function lineBreak(text: string, offset: number): number {
  const at = text.indexOf('\n', offset);
  if (at < 0) return text.length;
  return at > offset && text[at - 1] === '\r' ? at - 1 : at;
}

/** Returns the start of the next line after `offset`, or the end. */
export function nextLine(text: string, offset: number): number {
  const at = text.indexOf('\n', offset);
  return at < 0 ? text.length : at + 1;
}

/** Returns the spaces and tabs at the start of the line that contains `offset`. */
export function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset), offset))?.[0] ?? '';
}

/** Returns the form of the nearest line break: the one before `offset`, otherwise the one after it. */
export function eolNear(text: string, offset: number): string {
  let at = offset === 0 ? -1 : text.lastIndexOf('\n', offset - 1);
  if (at < 0) at = text.indexOf('\n', offset);
  return at > 0 && text[at - 1] === '\r' ? '\r\n' : '\n';
}

/** Returns the line break directly before `at`, the start of a line. */
export const breakBefore = (text: string, at: number): string =>
  text.endsWith('\r\n', at) ? '\r\n' : '\n';

/** Whether only white space is on the line that begins at `start`, or on the rest of a line. */
export const isBlankLine = (text: string, start: number): boolean =>
  text.slice(start, lineBreak(text, start)).trim() === '';

/** Whether `at` is the start of a line, or of the text. */
export const endsLine = (text: string, at: number): boolean => at === 0 || text[at - 1] === '\n';

/** A change of a text: replaces `remove` UTF-16 units at `at` by `insert`. */
export interface Splice {
  readonly at: number;
  readonly remove: number;
  readonly insert: string;
}

export const insertion = (at: number, insert: string): Splice => ({ at, remove: 0, insert });

export const deletion = (start: number, end: number): Splice => ({
  at: start,
  remove: end - start,
  insert: '',
});

/**
 * Deletes whole lines that are not in a string. If the last line is deleted, the line before it ends the file as the
 * last line did.
 *
 * @param isComment whether the line before is a comment: an empty line then separates it from the following text
 */
export function linesDeletion(text: string, { start, end }: Span, isComment: boolean): Splice {
  if (end === text.length) {
    const isUnended = !endsLine(text, end) && start > 0;
    return deletion(isUnended ? start - breakBefore(text, start).length : start, end);
  }
  const isApart = !isComment || isBlankLine(text, end);
  return deletion(start, isApart ? end : end - breakBefore(text, end).length);
}

/** Applies changes, which are in document order and do not overlap, to a text. */
export function splice(text: string, splices: readonly Splice[]): string {
  let result = '';
  let from = 0;
  for (const { at, remove, insert } of splices) {
    result += text.slice(from, at) + insert;
    from = at + remove;
  }
  return result + text.slice(from);
}
