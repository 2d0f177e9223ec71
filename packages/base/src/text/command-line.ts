/** Words that a shell takes as they are. */
const PLAIN = /^[\w./:@%+=,-]+$/;

/** Invisible characters, and those that change how the line is displayed. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
/** Invisible characters, and the quote that would end a quoted word. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}']/gu;

/** Formats a command line to be copied into a shell: words are quoted where needed. */
export const commandLine = (words: readonly string[]): string => words.map(shellWord).join(' ');

function shellWord(word: string): string {
  if (PLAIN.test(word)) return word;
  return word.search(UNSEEN) >= 0
    ? ansiQuoted(word)
    : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * Returns a word in the quoting of `$'\u202e'`, which bash and zsh read. A quote is `\u0027`: other shells, such as
 * dash, end the word at `\'`, and would run the rest of a name crafted for that.
 */
function ansiQuoted(word: string): string {
  const text = word.replaceAll('\\', String.raw`\\`).replaceAll(HIDDEN, (char) => {
    const code = (char.codePointAt(0) ?? 0).toString(16);
    return code.length > 4
      ? String.raw`\U${code.padStart(8, '0')}`
      : String.raw`\u${code.padStart(4, '0')}`;
  });
  return `$'${text}'`;
}
