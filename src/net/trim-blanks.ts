const SPACE = 0x20;
const TAB = 0x09;

const isBlank = (code: number): boolean => code === SPACE || code === TAB;

/**
 * A text without the spaces and tabs at both of its ends: the optional whitespace around a value
 * (RFC 9110 §5.6.3). A scan from each end, since a pattern for blanks at the end of a text is tried
 * anew at each blank inside it.
 */
export function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}
