import { quoted } from '@weir/base/printable';
import { ImportError } from '@weir/proxy/protocols/forms';

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

/*
 * Converts mihomo's expressions, which are those of .NET (regexp2). In Rust's regex, which Weir uses, classes with
 * brackets, `&&`, `--` or `~~`, and braces that are not a repetition count have another meaning: copied unchanged,
 * flows would be misrouted without an error. Features that Rust lacks (look-around, backreferences) are an error there.
 */

/**
 * Converts an expression of .NET to one of Rust's regex with the same meaning, if it is valid there.
 * @throws {ImportError} for an expression that Rust cannot express
 */
export function fromDotNet(pattern: string): string {
  const out: string[] = [];
  for (let at = 0; at < pattern.length;) {
    const char = pattern.charAt(at);
    if (char === '\\') {
      const found = escapeAt(pattern, at, false);
      out.push(found.text);
      at = found.end;
    } else if (char === '[') {
      const found = classAt(pattern, at, 0);
      out.push(found.text);
      at = found.end;
    } else if (char === '{') {
      const [count] = COUNT.exec(pattern.slice(at, at + LONGEST_COUNT)) ?? [];
      out.push(count ?? String.raw`\{`);
      at += count?.length ?? 1;
    } else if (pattern.startsWith('(?', at)) {
      const flags = /^[a-z-]*/i.exec(pattern.slice(at + 2, at + 2 + LONGEST_FLAGS))?.[0] ?? '';
      // White space belongs to classes in .NET, and not in Rust; Rust has no flag `n`.
      if (/[^ims-]/.test(flags) && !pattern.startsWith('(?P<', at)) throw other(pattern);
      out.push('(?');
      at += 2;
    } else {
      // Rust rejects a brace that is not a repetition count; .NET accepts it.
      out.push(char === '}' ? String.raw`\}` : char);
      at++;
    }
  }
  return out.join('');
}

const COUNT = /^\{\d{1,9}(?:,\d{0,9})?\}/;
const LONGEST_COUNT = 24;
const LONGEST_FLAGS = 12;

const other = (pattern: string): ImportError =>
  new ImportError(`${quoted(pattern)} means something else in Weir's regular expressions`);

/** Text in Rust's dialect for a part of a pattern. */
interface Found {
  readonly text: string;
  /** Index behind the part. */
  readonly end: number;
}

/** Arguments of escapes, by their letter. */
const ARGUMENTS: ReadonlyMap<string, RegExp> = new Map([
  ['p', /^\{[^{}]{1,40}\}/],
  ['P', /^\{[^{}]{1,40}\}/],
  ['x', /^(?:[0-9a-f]{2}|\{[0-9a-f]{1,6}\})/i],
  ['u', /^[0-9a-f]{4}/i],
]);
const LONGEST_ARGUMENT = 44;

/** Escapes of letters that both dialects have. */
const SHARED = /[aAbBdDfnpPrstuvwWxzS]/;

/** Converts an escape: escaped punctuation stays literal, for which Rust would reject some escapes (`\<`). */
function escapeAt(pattern: string, at: number, isInClass: boolean): Found {
  const char = pattern.charAt(at + 1);
  if (char === '') throw other(pattern);
  if (!/[a-z0-9]/i.test(char)) return { text: literal(char), end: at + 2 };
  if (!SHARED.test(char) || (isInClass && /[AbBz]/.test(char))) throw other(pattern);
  // Only Rust has these boundaries.
  if (/[bB]/.test(char) && pattern.charAt(at + 2) === '{') throw other(pattern);
  const form = ARGUMENTS.get(char);
  if (!form) return { text: `\\${char}`, end: at + 2 };
  const [argument] = form.exec(pattern.slice(at + 2, at + 2 + LONGEST_ARGUMENT)) ?? [];
  if (argument === undefined) throw other(pattern);
  return { text: `\\${char}${argument}`, end: at + 2 + argument.length };
}

/** Escapes punctuation so that it is literal in expressions and classes. */
const literal = (char: string): string =>
  /[!-/:-@[-`{-~]/.test(char) && !/[<>]/.test(char) ? `\\${char}` : char;

/** Maximum nesting of classes, by subtraction. */
const DEEPEST = 8;

/** Converts the class whose bracket is at `start`. */
function classAt(pattern: string, start: number, depth: number): Found {
  if (depth > DEEPEST) throw other(pattern);
  let at = start + 1;
  const isNegated = pattern[at] === '^';
  if (isNegated) at++;
  const members: string[] = [];
  for (let isFirst = true; at < pattern.length; isFirst = false) {
    const char = pattern.charAt(at);
    if (char === ']' && !isFirst) {
      return { text: `[${isNegated ? '^' : ''}${members.join('')}]`, end: at + 1 };
    }
    // .NET skips the name of a POSIX class in some places; the result is hardly intended.
    if (char === '[' && pattern[at + 1] === ':') throw other(pattern);
    if (char === '-' && pattern[at + 1] === '[' && !isFirst) {
      const subtracted = classAt(pattern, at + 1, depth + 1);
      // .NET requires it to be the last member.
      if (pattern[subtracted.end] !== ']') throw other(pattern);
      const base = `[${isNegated ? '^' : ''}${members.join('')}]`;
      return { text: `[${base}--${subtracted.text}]`, end: subtracted.end + 1 };
    }
    const low = memberAt(pattern, at);
    at = low.end;
    const isRange = pattern[at] === '-' && ![']', '[', undefined].includes(pattern[at + 1]);
    if (!isRange) members.push(low.text);
    else {
      // mihomo's library continues with the next member for the end of such a range.
      if (pattern.startsWith(String.raw`-\-`, at)) throw other(pattern);
      const high = memberAt(pattern, at + 1);
      members.push(`${low.text}-${high.text}`);
      at = high.end;
    }
  }
  throw other(pattern);
}

/** Converts one member of a class: a character, or a class such as `\d` and `\p{L}`. */
function memberAt(pattern: string, at: number): Found {
  const char = pattern.charAt(at);
  return char === '\\' ? escapeAt(pattern, at, true) : { text: literal(char), end: at + 1 };
}
