import { quoted } from '../../printable.ts';
import { ImportError } from '../draft.ts';

/** What Rust's regex reads otherwise than Go's: set operations, nested classes, a count without a start. */
const OTHER_MEANING = /&&|--|~~|\{,/;

/**
 * An expression of Go's regexp that means the same in Rust's, if it is valid there.
 * @throws {ImportError} for any other.
 */
export function expressionOf(pattern: string): string {
  if (!OTHER_MEANING.test(pattern) && !hasNestedClass(pattern)) return pattern;
  throw new ImportError(`${quoted(pattern)} means something else in Weir's regular expressions`);
}

/** Whether there is a bracket inside of a character class that is none of `[:alpha:]`. */
function hasNestedClass(pattern: string): boolean {
  let isInside = false;
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at];
    if (char === '\\') at++;
    else if (char === '[' && isInside && pattern[at + 1] !== ':') return true;
    else if (char === '[' && !isInside) {
      isInside = true;
      // A bracket that comes first is a member of the class.
      if (pattern[at + 1] === '^') at++;
      if (pattern[at + 1] === ']') at++;
    } else if (char === '[') at = endOfNamedClass(pattern, at);
    else if (char === ']') isInside = false;
  }
  return false;
}

/** The last character of `[:alpha:]` at `at`. */
function endOfNamedClass(pattern: string, at: number): number {
  const end = pattern.indexOf(':]', at);
  return end < 0 ? pattern.length : end + 1;
}

/** A text as an expression that matches nothing else. */
export const literally = (text: string): string =>
  text.replaceAll(/[\\.+*?()|[\]{}^$]/g, String.raw`\$&`);
