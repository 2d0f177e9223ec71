/** Returns a star for every character except tabs, whose width depends on their column. */
export const starred = (text: string): string => text.replaceAll(/[^\t]/gsu, '*');

/** The longest value in characters that is examined; longer ones are starred as a whole, to bound the work. */
const LONGEST = 256;

const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-/i;
/** Characters of base64, base64url and hexadecimal digits, at least 20 of them. */
const TOKENS = /[\w+/=-]{20,}/g;
const HEX = /^[\da-f]{32,}$/i;
const HOST_PORT = /^[\w-]+\.[\w.-]+:\d{1,5}$/;
/** The sign that may precede a path with a token, or another key's value after a missing quote. */
const SIGN = /:\/\/|=/;

/**
 * Returns a value, whose key does not name a secret, as errors show it. Parts in the form of a secret are starred all
 * the same: a value with `@`, before which share links have credentials, with a UUID, a random token or the name of a
 * secret and a sign, and the text after the scheme of a URL or an equals sign.
 * @param isSecret whether a word may be the name of a secret, or of a table with some
 */
export function shownText(text: string, isSecret: (word: string) => boolean): string {
  if (text.length > LONGEST || text.includes('@') || UUID.test(text)) return starred(text);
  const named = HOST_PORT.test(text) ? [] : text.split(/[:=]/).slice(0, -1).flatMap(wordsOfKey);
  if (named.some(isSecret)) return starred(text);
  if (Array.from(text.matchAll(TOKENS)).some(([word]) => isToken(word))) return starred(text);
  const [sign] = SIGN.exec(text) ?? [''];
  const end = sign === '' ? text.length : text.indexOf(sign) + sign.length;
  return text.slice(0, end) + starred(text.slice(end));
}

/** Returns the words of the last part of a text between spaces: of the dotted or quoted key before a sign. */
const wordsOfKey = (text: string): readonly string[] =>
  (text.trim().split(/\s/).at(-1) ?? '').split(/[^\w-]/).filter((word) => word !== '');

/** Whether a word has letters of both cases and digits, like random ones, or is long and hexadecimal. */
const isToken = (word: string): boolean =>
  HEX.test(word) || (/[A-Z]/.test(word) && /[a-z]/.test(word) && /\d/.test(word));
