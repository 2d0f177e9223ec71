import { endOfClosed } from './toml/long-strings.ts';
import { viewKey, type KeyDisclosure, type KeyView } from './shown-keys.ts';

const BLANKS = /[ \t\r]+/y;
const COMMENT = /[^\n]*/y;
const NAME = /[\w-]+/y;
/** A key, or a header; spaces around a dot are possible but unusual. */
const PLAIN_NAMES = /^(?:[\w.-]+[ \t]*=|\[[[ \t\w.-]*\]+)$/;
const BARE = /[\w.:+-]+/y;
const NUMBER = /^[+-]?(?:\d|inf$|nan$)/;
/** The text after a value; at the end of the document there is none. */
const VALUE_END = /[ \t\r]*[,}\]#\n]/y;

/** A text in the quotes that word processors write instead of those of TOML. */
const PROSE = /[“”„‟«»‹›‘’‚`´][^“”„‟«»‹›‘’‚`´\n]*[“”„‟«»‹›‘’‚`´]/y;
/** A text whose closing quote is missing. */
const UNCLOSED = /["'][^,;=#\n"'“”„‟«»‹›‘’‚`´]*/y;
const WORD = /[^\s,;"'#=[\]{}“”„‟«»‹›‘’‚`´]+/y;
const BRACKETS = /[[\] \t]+/y;
/** The separator that other formats have between a key and its value. */
const SIGN = /[ \t]*[:=]?[ \t]*/y;

/** Names of a dotted key or header, and different names on a line, that are examined, to bound the work. */
const MOST_NAMES = 16;
const MOST_KEYS = 200;
/** Characters of a line that are examined. */
const MOST_CHARACTERS = 4096;

/** The properties assumed of any further key. */
const UNKNOWN: KeyView = { disclosure: 'starred', isRecognised: false, isSecret: true };

/** The path of the table of picks, whose keys are names of groups. */
const PICKS = 'subscribe.routes';

/** The key of a value, or of its enclosing value. */
interface Scope {
  readonly names: readonly string[];
  /** The key of the enclosing inline table; `undefined` for a key of the current table. */
  readonly parent: Scope | undefined;
  disclosure?: KeyDisclosure;
}

/** An open array or inline table, with the key whose value it is or belongs to. */
interface Bracket {
  readonly close: ']' | '}';
  readonly scope: Scope | undefined;
}

/**
 * Returns a line of a document as errors show it: each character of a possible secret is replaced by a star. Whether a
 * value may be one depends on its key, which may be on an earlier line: see `viewKey`. A value in the form of a
 * secret is starred at any key, and so are comments, which may hold a secret that was commented out.
 *
 * The line need not be valid TOML: at a key whose values are shown, an invalid value is shown as well, and the text
 * after it is starred unless it is another key. A line is starred as a whole if the text before it is not valid. Tabs
 * are kept, so that columns are preserved.
 *
 * @param text the document
 * @param start offset of the line
 * @param end offset of its end, without the line break
 * @throws {KeysUnknownError}
 */
export function shownLine(text: string, start: number, end: number): string {
  return new LineReader(text, start, end).shown();
}

class LineReader {
  readonly #text: string;
  readonly #start: number;
  readonly #end: number;
  #at = 0;
  #shown = '';
  readonly #brackets: Bracket[] = [];
  /** The names of the current `[table]`. */
  #header: readonly string[] = [];
  #expected: 'key' | 'value' | 'after' = 'key';
  /** The key of the value that is expected, or was read last. */
  #scope: Scope | undefined;
  readonly #keys = new Map<string, KeyView>();

  constructor(text: string, start: number, end: number) {
    this.#text = text;
    this.#start = start;
    this.#end = end;
  }

  shown(): string {
    while (this.#at < this.#end) {
      if (this.#at - this.#start > MOST_CHARACTERS) this.#starRest();
      else if (!this.#readToken()) {
        if (this.#at < this.#start) return starred(this.#text.slice(this.#start, this.#end));
        this.#readInvalid();
      }
    }
    return this.#shown;
  }

  /** Reads a token of TOML; returns false at anything else. */
  #readToken(): boolean {
    const blanks = this.#lengthOf(BLANKS);
    if (blanks > 0) return this.#show(blanks);
    const char = this.#text.charAt(this.#at);
    if (char === '#') return this.#show(1) && this.#star(this.#lengthOf(COMMENT));
    if (char === '\n') {
      if (this.#brackets.length === 0 && this.#expected === 'value') return false;
      if (this.#brackets.length === 0) this.#expected = 'key';
      return this.#show(1);
    }
    const inner = this.#brackets.at(-1);
    if (inner && char === inner.close && (char === '}' || this.#expected !== 'key')) {
      this.#brackets.pop();
      this.#scope = inner.scope;
      this.#expected = 'after';
      return this.#show(1);
    }
    switch (this.#expected) {
      case 'key':
        return char === '[' && !inner ? this.#readHeader() : this.#readKey();
      case 'value':
        return this.#readValue(char);
      case 'after':
        if (char !== ',' || !inner) return false;
        this.#expected = inner.close === '}' ? 'key' : 'value';
        this.#scope = inner.scope;
        return this.#show(1);
      default:
        return this.#expected satisfies never;
    }
  }

  #readHeader(): boolean {
    const open = this.#text.startsWith('[[', this.#at) ? 2 : 1;
    const { names, end } = this.#namesAt(this.#at + open);
    const close = ']'.repeat(open);
    if (names.length === 0 || !this.#text.startsWith(close, end)) return false;
    this.#header = names;
    this.#expected = 'after';
    return this.#showNames(names, end + open);
  }

  #readKey(): boolean {
    const { names, end } = this.#namesAt(this.#at);
    if (names.length === 0 || this.#text[end] !== '=') return false;
    this.#openKey(names);
    return this.#showNames(names, end + 1, end >= this.#start && this.#isShown());
  }

  #openKey(names: readonly string[]): void {
    this.#scope = { names, parent: this.#brackets.at(-1)?.scope };
    this.#expected = 'value';
  }

  /** Shows names up to `end` unless they may be part of a secret; otherwise stars the rest of the line. */
  #showNames(names: readonly string[], end: number, isShown = false): boolean {
    if (end <= this.#start) return this.#show(end - this.#at);
    const isBare = PLAIN_NAMES.test(this.#text.slice(this.#at, end));
    const isPlain =
      isShown ||
      (isBare && this.#brackets.length === 0) ||
      names.every((name) => this.#view(name).isRecognised);
    return isPlain ? this.#show(end - this.#at) : this.#starRest();
  }

  #readValue(char: string): boolean {
    if (char === '[' || char === '{') {
      this.#brackets.push({ close: char === '[' ? ']' : '}', scope: this.#scope });
      this.#expected = char === '[' ? 'value' : 'key';
      return this.#show(1);
    }
    const length = this.#stringAt() || this.#lengthOf(BARE);
    const end = this.#at + length;
    if (length === 0 || (end < this.#text.length && this.#lengthOf(VALUE_END, end) === 0))
      return false;
    const isQuoted = char === '"' || char === "'";
    const bare = this.#text.slice(this.#at, isQuoted ? this.#at : end);
    const isBoolean = bare === 'true' || bare === 'false';
    if (!isQuoted && !isBoolean && !NUMBER.test(bare)) return false;
    this.#expected = 'after';
    // Texts of several lines are never shown.
    if (this.#text.startsWith(char.repeat(3), this.#at)) return this.#star(length);
    if (isQuoted) return this.#showQuoted(length);
    if (isBoolean || end <= this.#start) return this.#show(length);
    // A value that begins like a number may be a UUID or a token without quotes.
    return this.#isShown() ? this.#showPart(length) : this.#star(length);
  }

  /**
   * Reads invalid TOML on the line itself: a value with a mistake or without quotes, or a key of another format. Any
   * other text is starred to the end of the line, since it may be part of a secret.
   */
  #readInvalid(): boolean {
    if (this.#expected === 'value') return this.#readInvalidValue();
    if (this.#expected === 'after') {
      // A secret may contain a quote.
      if (!this.#isShown()) return this.#starRest();
      if (/[,;]/.test(this.#text.charAt(this.#at))) this.#show(1);
      this.#show(this.#lengthOf(BLANKS));
    }
    const isFirst = this.#expected === 'key';
    if (isFirst) this.#show(this.#lengthOf(BRACKETS));
    const { names, end } = this.#namesAt(this.#at);
    const sign = this.#lengthOf(SIGN, end);
    const isKey = names.length > 0 && names.every((name) => this.#view(name).isRecognised);
    if (!isKey || (!isFirst && sign === 0)) return this.#starRest();
    this.#openKey(names);
    this.#show(end - this.#at);
    return this.#isShown()
      ? this.#show(sign)
      : this.#show(this.#lengthOf(BRACKETS)) && this.#starRest();
  }

  #readInvalidValue(): boolean {
    if (!this.#isShown()) return this.#starRest();
    this.#expected = 'after';
    const isLong = /"{3}|'{3}/.test(this.#text.slice(this.#at, this.#at + 3));
    const quoted = isLong ? 0 : this.#stringAt() || this.#lengthOf(PROSE);
    if (quoted > 0) return this.#showQuoted(quoted);
    const length = this.#lengthOf(UNCLOSED) || this.#lengthOf(WORD);
    // After a missing quote another key may follow.
    const words = this.#text.slice(this.#at, this.#at + length).split(/[^\w-]+/);
    if (length === 0 || words.some((word) => word !== '' && this.#isKey(word))) {
      return this.#starRest();
    }
    return this.#showPart(length);
  }

  /** Shows or stars a text between two quotes. */
  #showQuoted(length: number): boolean {
    if (this.#at + length <= this.#start) return this.#show(length);
    const isShown = this.#isShown();
    this.#show(1);
    if (isShown) this.#showPart(length - 2);
    else this.#star(length - 2);
    return this.#show(1);
  }

  /** Shows a value of a key whose values are shown. */
  #showPart(length: number): boolean {
    const end = Math.min(this.#at + length, this.#end);
    this.#shown += shownText(this.#text.slice(this.#at, end), this.#mayHoldSecret);
    this.#at = end;
    return true;
  }

  #isShown(): boolean {
    return this.#disclosureOf(this.#scope) === 'shown';
  }

  /**
   * Returns the disclosure of a scope, determined from the outermost key on: each scope is examined once, whatever the
   * depth.
   */
  #disclosureOf(scope: Scope | undefined): KeyDisclosure {
    const unknown: Scope[] = [];
    let at = scope;
    for (; at && at.disclosure === undefined; at = at.parent) unknown.push(at);
    let around = at?.disclosure ?? this.#ofHeader();
    for (const each of unknown.toReversed()) {
      each.disclosure = around = this.#disclosureWithin(around, each);
    }
    return around;
  }

  #disclosureWithin(around: KeyDisclosure, { names, parent }: Scope): KeyDisclosure {
    const last = names.at(-1) ?? '';
    const isSecret = names.length > MOST_NAMES || names.slice(0, -1).some(this.#isSecret);
    if (around === 'starred' || isSecret) return 'starred';
    // The keys of picks are names of groups.
    if (around === 'shown' && !parent) return this.#mayHoldSecret(last) ? 'starred' : 'shown';
    return this.#view(last).disclosure;
  }

  #isKey(word: string): boolean {
    const { isRecognised, isSecret } = this.#view(word);
    return isRecognised || isSecret;
  }

  readonly #mayHoldSecret = (word: string): boolean => {
    const { isSecret, disclosure } = this.#view(word);
    return isSecret || disclosure === 'table';
  };

  readonly #isSecret = (name: string): boolean => this.#view(name).isSecret;

  #view(name: string): KeyView {
    const known = this.#keys.get(name);
    if (known) return known;
    if (this.#keys.size === MOST_KEYS) return UNKNOWN;
    const view = viewKey(name);
    this.#keys.set(name, view);
    return view;
  }

  #ofHeader(): KeyDisclosure {
    const names = this.#header;
    if (names.length > MOST_NAMES || names.some(this.#isSecret)) return 'starred';
    return names.join('.') === PICKS ? 'shown' : 'table';
  }

  /**
   * Returns a dotted key at `from`: its names, none if there is no key, and the offset after it and the spaces that
   * follow.
   */
  #namesAt(from: number): { readonly names: readonly string[]; readonly end: number } {
    const names: string[] = [];
    let end = from + this.#lengthOf(BLANKS, from);
    for (;;) {
      const length = this.#stringAt(end) || this.#lengthOf(NAME, end);
      if (length === 0) return { names: [], end: from };
      const name = this.#text.slice(end, end + length);
      names.push(/^["']/.test(name) ? name.slice(1, -1) : name);
      end += length;
      end += this.#lengthOf(BLANKS, end);
      if (this.#text[end] !== '.') return { names, end };
      end += 1;
      end += this.#lengthOf(BLANKS, end);
    }
  }

  #lengthOf(pattern: RegExp, at = this.#at): number {
    pattern.lastIndex = at;
    return pattern.test(this.#text) ? pattern.lastIndex - at : 0;
  }

  /** Returns the length of a closed string at `at`; 0 without one. */
  #stringAt(at = this.#at): number {
    const char = this.#text[at];
    if (char !== '"' && char !== "'") return 0;
    return Math.max(0, endOfClosed(this.#text, at) - at);
  }

  /** Shows the next characters, as far as they are on the line. */
  #show(length: number): true {
    this.#shown += this.#take(length);
    return true;
  }

  #star(length: number): true {
    this.#shown += starred(this.#take(length));
    return true;
  }

  #take(length: number): string {
    const from = Math.max(this.#at, this.#start);
    this.#at += length;
    return this.#at > from ? this.#text.slice(from, Math.min(this.#at, this.#end)) : '';
  }

  #starRest(): true {
    return this.#star(Math.max(0, this.#end - this.#at));
  }
}

/** Returns a star for every character except tabs, whose width depends on their column. */
const starred = (text: string): string => text.replaceAll(/[^\t]/gsu, '*');

/** The longest value in characters that is examined; longer ones are starred as a whole, to bound the work. */
const LONGEST = 256;

const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-/i;
/** Characters of base64, base64url and hexadecimal digits, at least 20 of them. */
const TOKENS = /[\w+/=-]{20,}/g;
const HEX = /^[\da-f]{32,}$/i;
const HOST_PORT = /^[\w-]+\.[\w.-]+:\d{1,5}$/;
/** The sign that may precede a path with a token, or another key's value after a missing quote. */
const SIGN_BEFORE = /:\/\/|=/;

/**
 * Returns a value, whose key does not name a secret, as errors show it. Parts in the form of a secret are starred all
 * the same: a value with `@`, before which share links have credentials, with a UUID, a random token or the name of a
 * secret and a sign, and the text after the scheme of a URL or an equals sign.
 * @param isSecret whether a word may be the name of a secret, or of a table with some
 */
function shownText(text: string, isSecret: (word: string) => boolean): string {
  if (text.length > LONGEST || text.includes('@') || UUID.test(text)) return starred(text);
  const named = HOST_PORT.test(text) ? [] : text.split(/[:=]/).slice(0, -1).flatMap(wordsOfKey);
  if (named.some(isSecret)) return starred(text);
  if (Array.from(text.matchAll(TOKENS)).some(([word]) => isToken(word))) return starred(text);
  const [sign] = SIGN_BEFORE.exec(text) ?? [''];
  const end = sign === '' ? text.length : text.indexOf(sign) + sign.length;
  return text.slice(0, end) + starred(text.slice(end));
}

/** Returns the words of the last part of a text between spaces: of the dotted or quoted key before a sign. */
const wordsOfKey = (text: string): readonly string[] =>
  (text.trim().split(/\s/).at(-1) ?? '').split(/[^\w-]/).filter((word) => word !== '');

/** Whether a word has letters of both cases and digits, like random ones, or is long and hexadecimal. */
const isToken = (word: string): boolean =>
  HEX.test(word) || (/[A-Z]/.test(word) && /[a-z]/.test(word) && /\d/.test(word));
