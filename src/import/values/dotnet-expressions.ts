import { quoted } from '../../printable.ts';
import { ImportError } from '../draft.ts';

/*
 * mihomo's expressions are those of .NET (regexp2). Weir's, of Rust's regex, mean something else where a class
 * has brackets, `&&`, `--` or `~~`, and where a brace is no count: written as they are, flows would go elsewhere
 * without an error. What Rust lacks (look-around, references) is an error there.
 */

/**
 * An expression of Rust's regex that means the same as one of .NET, if it is valid there.
 * @throws {ImportError} for one that cannot be said so.
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
      // White space is a part of classes in .NET, and not in Rust; `n` is none of its flags.
      if (/[^ims-]/.test(flags) && !pattern.startsWith('(?P<', at)) throw other(pattern);
      out.push('(?');
      at += 2;
    } else {
      // Rust refuses a brace that is no count; .NET takes it.
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

/** Text of Rust's dialect, for a part of a pattern. */
interface Found {
  readonly text: string;
  /** The index behind the part. */
  readonly end: number;
}

/** What follows the letter of an escape, by that letter. */
const ARGUMENTS: ReadonlyMap<string, RegExp> = new Map([
  ['p', /^\{[^{}]{1,40}\}/],
  ['P', /^\{[^{}]{1,40}\}/],
  ['x', /^(?:[0-9a-f]{2}|\{[0-9a-f]{1,6}\})/i],
  ['u', /^[0-9a-f]{4}/i],
]);
const LONGEST_ARGUMENT = 44;

/** Escapes of letters that both dialects have. */
const SHARED = /[aAbBdDfnpPrstuvwWxzS]/;

/** A backslash and what it escapes: signs stay signs, which some are not in Rust (`\<`). */
function escapeAt(pattern: string, at: number, isInClass: boolean): Found {
  const char = pattern.charAt(at + 1);
  if (char === '') throw other(pattern);
  if (!/[a-z0-9]/i.test(char)) return { text: literal(char), end: at + 2 };
  if (!SHARED.test(char) || (isInClass && /[AbBz]/.test(char))) throw other(pattern);
  // A kind of boundary in Rust alone.
  if (/[bB]/.test(char) && pattern.charAt(at + 2) === '{') throw other(pattern);
  const form = ARGUMENTS.get(char);
  if (!form) return { text: `\\${char}`, end: at + 2 };
  const [argument] = form.exec(pattern.slice(at + 2, at + 2 + LONGEST_ARGUMENT)) ?? [];
  if (argument === undefined) throw other(pattern);
  return { text: `\\${char}${argument}`, end: at + 2 + argument.length };
}

/** A sign that is none in an expression nor in a class. */
const literal = (char: string): string =>
  /[!-/:-@[-`{-~]/.test(char) && !/[<>]/.test(char) ? `\\${char}` : char;

/** Classes within each other, by subtraction. */
const DEEPEST = 8;

/** The class whose bracket is at `start`. */
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
    // .NET skips the name of a class of POSIX in some places; what is left is hardly meant.
    if (char === '[' && pattern[at + 1] === ':') throw other(pattern);
    if (char === '-' && pattern[at + 1] === '[' && !isFirst) {
      const subtracted = classAt(pattern, at + 1, depth + 1);
      // .NET demands that it is the last member.
      if (pattern[subtracted.end] !== ']') throw other(pattern);
      const base = `[${isNegated ? '^' : ''}${members.join('')}]`;
      return { text: `[${base}--${subtracted.text}]`, end: subtracted.end + 1 };
    }
    const low = memberAt(pattern, at);
    at = low.end;
    const isRange = pattern[at] === '-' && ![']', '[', undefined].includes(pattern[at + 1]);
    if (!isRange) members.push(low.text);
    else {
      // mihomo's library goes on to the next member for the end of such a range.
      if (pattern.startsWith(String.raw`-\-`, at)) throw other(pattern);
      const high = memberAt(pattern, at + 1);
      members.push(`${low.text}-${high.text}`);
      at = high.end;
    }
  }
  throw other(pattern);
}

/** One member of a class: a character, or a class of its own such as `\d` and `\p{L}`. */
function memberAt(pattern: string, at: number): Found {
  const char = pattern.charAt(at);
  return char === '\\' ? escapeAt(pattern, at, true) : { text: literal(char), end: at + 1 };
}
