import { quoted } from '../../printable.ts';
import { ImportError } from '../../protocols/forms/draft.ts';

/**
 * Syntax that Rust's regex interprets differently than Go's: set operations, nested classes, a repetition without a
 * minimum.
 */
const OTHER_MEANING = /&&|--|~~|\{,/;

/**
 * Checks that an expression of Go's regexp has the same meaning in Rust's, if it is valid there.
 * @throws {ImportError} for any other expression
 */
export function expressionOf(pattern: string): string {
  if (!OTHER_MEANING.test(pattern) && !hasNestedClass(pattern)) return pattern;
  throw new ImportError(`${quoted(pattern)} means something else in Weir's regular expressions`);
}

/** Whether a character class contains a bracket that does not begin `[:alpha:]`. */
function hasNestedClass(pattern: string): boolean {
  let isInside = false;
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at];
    if (char === '\\') at++;
    else if (char === '[' && isInside && pattern[at + 1] !== ':') return true;
    else if (char === '[' && !isInside) {
      isInside = true;
      // A bracket in first position is a member of the class.
      if (pattern[at + 1] === '^') at++;
      if (pattern[at + 1] === ']') at++;
    } else if (char === '[') at = endOfNamedClass(pattern, at);
    else if (char === ']') isInside = false;
  }
  return false;
}

/** The index of the last character of the `[:alpha:]` at `at`. */
function endOfNamedClass(pattern: string, at: number): number {
  const end = pattern.indexOf(':]', at);
  return end < 0 ? pattern.length : end + 1;
}

/** Escapes a text as an expression that matches only it. */
export const literally = (text: string): string =>
  text.replaceAll(/[\\.+*?()|[\]{}^$]/g, String.raw`\$&`);
