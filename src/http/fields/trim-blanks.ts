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
