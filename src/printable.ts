/**
 * What must not reach a terminal or a log as it stands: control characters of both sets, which move the
 * cursor and end lines; the separators of lines and paragraphs; and formatting characters, among them
 * those that reverse the direction of what follows. The joiners (U+200C, U+200D) stay: names of several
 * scripts, and emoji, are written with them.
 */
const UNPRINTABLE = /(?![\u200C\u200D])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|\p{Cs}/gu;

/** `text` with `replace` of each unprintable character in its place. */
export const replaceUnprintable = (text: string, replace: (codePoint: number) => string): string =>
  text.replaceAll(UNPRINTABLE, (char) => replace(char.codePointAt(0) ?? 0));

/** Text from elsewhere on one line, with its unprintable characters as `\u{1b}`. */
export const printable = (text: string): string =>
  replaceUnprintable(text, (codePoint) => String.raw`\u{${codePoint.toString(16)}}`);

/** In double quotes, and on one line. */
export const quoted = (text: string): string => printable(JSON.stringify(text));

/** The same of a text that may have several lines, such as another process's report. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');

/**
 * JSON on one line, `null` for undefined. JSON itself escapes only some of what a terminal must not get.
 */
export const printableJson = (value: unknown): string =>
  replaceUnprintable(JSON.stringify(value ?? null), (codePoint) =>
    String.fromCodePoint(codePoint)
      .split('')
      .map((unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
