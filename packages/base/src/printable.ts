/**
 * Characters that must not reach a terminal or a log unescaped: C0 and C1 control characters, which
 * move the cursor and end lines; line and paragraph separators; and format characters, some of
 * which reverse the direction of the text. The joiners (U+200C, U+200D) are kept: several scripts
 * and emoji need them.
 */
const UNPRINTABLE = /(?![\u200C\u200D])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|\p{Cs}/gu;

/** `text` with each unprintable character replaced by the result of `replace`. */
export const replaceUnprintable = (text: string, replace: (codePoint: number) => string): string =>
  text.replaceAll(UNPRINTABLE, (char) => replace(char.codePointAt(0) ?? 0));

/** Untrusted text on one line, with unprintable characters escaped as `\u{1b}`. */
export const printable = (text: string): string =>
  replaceUnprintable(text, (codePoint) => String.raw`\u{${codePoint.toString(16)}}`);

/** Untrusted text in double quotes on one line, with unprintable characters escaped. */
export const quoted = (text: string): string => printable(JSON.stringify(text));

/** Untrusted text of several lines, such as another process's report; unprintable characters are escaped in each. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');

/**
 * JSON on one line, `null` for undefined. Also escapes unprintable characters that JSON itself does
 * not.
 */
export const printableJson = (value: unknown): string => escapedJson(JSON.stringify(value ?? null));

/** JSON on several lines, indented; also escapes unprintable characters that JSON itself does not. */
export const printableJsonLines = (value: unknown): string =>
  JSON.stringify(value ?? null, undefined, 2)
    .split('\n')
    .map(escapedJson)
    .join('\n');

const escapedJson = (json: string): string =>
  replaceUnprintable(json, (codePoint) =>
    String.fromCodePoint(codePoint)
      .split('')
      .map((unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
