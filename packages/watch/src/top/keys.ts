/** A key: a printable character, or the name of another key, such as `enter` or `ctrl-c`. */
export type Key = string;

/** Keys by the end of their sequence, after ESC [ or ESC O. */
const SEQUENCES: Readonly<Record<string, Key>> = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  H: 'home',
  F: 'end',
  '1~': 'home',
  '3~': 'delete',
  '4~': 'end',
  '5~': 'pageup',
  '6~': 'pagedown',
  '7~': 'home',
  '8~': 'end',
  Z: 'shift-tab',
};

const CONTROLS: Readonly<Record<string, Key>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\x7f': 'backspace',
  '\b': 'backspace',
  '\x03': 'ctrl-c',
  '\x0c': 'ctrl-l',
  '\x15': 'ctrl-u',
  '\x1a': 'ctrl-z',
};

const ESCAPE = '\x1b';
/** Character classes of a control sequence: ECMA-48, section 5.4. */
const isParameter = (char: string): boolean => char >= ' ' && char <= '?';
const isFinal = (char: string): boolean => char >= '@' && char <= '~';
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;
/** Maximum length of a sequence; no key of a terminal has a longer one. */
const LONGEST_SEQUENCE = 32;

/** Parses keys from a terminal's input, in arbitrary chunks. Unknown sequences and control characters are skipped. */
export class KeyReader {
  /** The beginning of an incomplete sequence. */
  #rest = '';

  /**
   * Whether the last chunk ended with ESC or within a sequence: either the rest follows immediately, or the key was
   * ESC.
   */
  get isWithin(): boolean {
    return this.#rest !== '';
  }

  /** Parses a chunk and returns the keys that it completes. */
  push(piece: string): readonly Key[] {
    const keys: Key[] = [];
    const chars = Array.from(this.#rest + piece);
    this.#rest = '';
    let at = 0;
    while (at < chars.length) {
      const char = chars[at] ?? '';
      if (char === ESCAPE) {
        const end = sequenceEnd(chars, at);
        if (end === undefined) {
          this.#rest = chars.slice(at).join('');
          break;
        }
        const key = end === at + 1 ? 'escape' : SEQUENCES[chars.slice(at + 2, end).join('')];
        if (key !== undefined) keys.push(key);
        at = end;
      } else {
        const key = UNPRINTABLE.test(char) ? CONTROLS[char] : char;
        if (key !== undefined) keys.push(key);
        at++;
      }
    }
    return keys;
  }

  /** Returns the key of an ESC without a continuation; to be called some time after the chunk. */
  flush(): readonly Key[] {
    const rest = this.#rest;
    this.#rest = '';
    return rest === ESCAPE ? ['escape'] : [];
  }
}

/**
 * The exclusive end of the sequence that begins with the ESC at `start`; the ESC alone if it begins none. `undefined`
 * if the rest has not arrived yet.
 */
function sequenceEnd(chars: readonly string[], start: number): number | undefined {
  const introducer = chars[start + 1];
  if (introducer === undefined) return undefined;
  if (introducer !== '[' && introducer !== 'O') return start + 1;
  for (let at = start + 2; at < chars.length; at++) {
    const char = chars[at] ?? '';
    if (isFinal(char)) return at + 1;
    // A character that cannot be part of a sequence aborts it.
    if (!isParameter(char) || at - start >= LONGEST_SEQUENCE) return at;
  }
  return undefined;
}
