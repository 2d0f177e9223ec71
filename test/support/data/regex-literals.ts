/** A regular expression as it stands in a source text. */
export interface RegexLiteral {
  readonly source: string;
  readonly flags: string;
}

/** Behind these a slash divides; behind anything else it opens a regular expression. */
const VALUE_END = /[\w$)\]}'"`]$/;
/** Words that a value follows, though they end like a name. */
const VALUE_FOLLOWS = /\b(?:return|case|typeof|of|in|yield|await|throw|void|delete)$/;

const isValue = (code: string): boolean => VALUE_END.test(code) && !VALUE_FOLLOWS.test(code);

/**
 * The regular expressions of a TypeScript text, in order. Comments, strings and the fixed parts of
 * templates are read over. A `}` or `)` counts as the end of a value, so an expression that begins
 * a statement or follows an `if (…)` would be missed; the formatter leaves neither.
 */
export function regexLiterals(text: string): RegexLiteral[] {
  const found: RegexLiteral[] = [];
  /** How deep in braces each open template is. */
  const templates: number[] = [];
  let braces = 0;
  /** The code since the last literal or comment, enough of it to decide what a slash is. */
  let before = '';
  let at = text.startsWith('#!') ? endOf(text, '\n', 0) : 0;
  while (at < text.length) {
    const char = text.charAt(at);
    if (text.startsWith('//', at)) {
      at = endOf(text, '\n', at);
    } else if (text.startsWith('/*', at)) {
      at = endOf(text, '*/', at + 2);
    } else if (char === "'" || char === '"') {
      at = endOfQuoted(text, at + 1, char);
      before = char;
    } else if (char === '`' || (char === '}' && templates.at(-1) === braces)) {
      if (char === '}') templates.pop();
      at = endOfQuoted(text, at + 1, '`', '${');
      before = '`';
      if (text.charAt(at - 1) === '{') {
        templates.push(braces);
        before = '';
      }
    } else if (char === '/' && !isValue(before.trimEnd())) {
      const end = endOfPattern(text, at + 1);
      const flags = /[a-z]*/y;
      flags.lastIndex = end + 1;
      const [letters = ''] = flags.exec(text) ?? [];
      found.push({ source: text.slice(at + 1, end), flags: letters });
      at = end + 1 + letters.length;
      before = ')';
    } else {
      if (char === '{') braces++;
      if (char === '}') braces--;
      before = `${before.trimStart()}${char}`.slice(-20);
      at++;
    }
  }
  return found;
}

function endOf(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from);
  return at < 0 ? text.length : at + mark.length;
}

/** Behind the first of the marks that no backslash stands before. */
function endOfQuoted(text: string, from: number, ...marks: string[]): number {
  for (let at = from; at < text.length; at++) {
    if (text.charAt(at) === '\\') at++;
    else {
      const mark = marks.find((each) => text.startsWith(each, at));
      if (mark !== undefined) return at + mark.length;
    }
  }
  return text.length;
}

/** The slash that ends a pattern: in no class, and escaped by nothing. */
function endOfPattern(text: string, from: number): number {
  let inClass = false;
  for (let at = from; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === '\\') at++;
    else if (char === '[') inClass = true;
    else if (char === ']') inClass = false;
    else if (char === '/' && !inClass) return at;
  }
  throw new Error(`a pattern without end: ${text.slice(from, from + 40)}`);
}

const QUANTIFIER = /(?:[*+?]|\{\d+(?<open>,\d*)?\})\??/y;

/** How often a pattern repeats without bound, and whether the last such repetition ends it. */
interface Repetitions {
  readonly count: number;
  readonly last: boolean;
  /** The pattern as a whole is one of several, so that what begins it does not begin all of it. */
  readonly alternatives: boolean;
}

function repetitionsOf(source: string): Repetitions {
  const groups: number[] = [0];
  let last = false;
  let alternatives = false;
  let at = 0;
  while (at < source.length) {
    const char = source.charAt(at);
    if (char === '|' && groups.length === 1) alternatives = true;
    let inner = 0;
    if (char === '(') {
      groups.push(0);
      at++;
      // What `?:`, `?=`, `?<name>` begin is no quantifier.
      if (source.charAt(at) === '?') at++;
      continue;
    }
    if (char === ')') inner = groups.pop() ?? 0;
    at = char === '[' ? endOfClass(source, at) : at + (char === '\\' ? 2 : 1);
    QUANTIFIER.lastIndex = at;
    const match = QUANTIFIER.exec(source);
    const [quantifier = ''] = match ?? [];
    const unbounded = /^[*+]|,\}/.test(quantifier);
    const repeated = quantifier !== '' && !quantifier.startsWith('?');
    at += quantifier.length;
    const count = (unbounded ? 1 : 0) + (repeated ? 2 * inner : inner);
    groups.push((groups.pop() ?? 0) + count);
    last = unbounded && !quantifier.endsWith('?') && at === source.length;
  }
  return { count: groups.reduce((sum, each) => sum + each), last, alternatives };
}

function endOfClass(source: string, from: number): number {
  for (let at = from; at < source.length; at++) {
    if (source.charAt(at) === '\\') at++;
    else if (source.charAt(at) === ']') return at + 1;
  }
  return source.length;
}

/**
 * Whether the form of a pattern alone shows that its work is linear. It errs on the side of doubt:
 * many patterns without that form are linear as well, because what their repetitions take differs.
 *
 * - Without an unbounded repetition, each place of the input takes a bounded number of steps.
 * - With one, tried at one place only (`^`, or sticky), each length of it is tried once.
 * - With one at the very end, greedy, it cannot fail, and the next search begins behind it.
 */
export function isLinearByForm({ source, flags }: RegexLiteral): boolean {
  const { count, last, alternatives } = repetitionsOf(source);
  if (count === 0) return true;
  if (count > 1) return false;
  const anchored = source.startsWith('^') && !flags.includes('m') && !alternatives;
  return anchored || flags.includes('y') || last;
}
