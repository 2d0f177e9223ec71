// Rules of RFC 9110 for texts in any version of HTTP.

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// Control characters except the tab: RFC 9110 §5.5 allows none of them in a value.
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/;
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\0-\x08\x0a-\x1f\x7f]/g;

/** Tells whether a text is a token (RFC 9110 §5.6.2). */
export const isToken = (text: string): boolean => TOKEN.test(text);

/** Tells whether a text has a byte that is invalid in field values, reason phrases and targets. */
export const hasControl = (text: string): boolean => CONTROL.test(text);

/** Replaces each byte that is invalid in field values, reason phrases and targets with a space. */
export const blankControls = (text: string): string => text.replaceAll(CONTROLS, ' ');

const SPACE = 0x20;
const TAB = 0x09;

const isBlank = (code: number): boolean => code === SPACE || code === TAB;

/**
 * Removes leading and trailing spaces and tabs: the optional whitespace around a value (RFC 9110 §5.6.3). Not a regular
 * expression, since one for trailing blanks takes quadratic time.
 */
export function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}
