/** A command of a block of `sh`, without its redirections. */
export interface ShellCommand {
  /** As it stands on the page, for messages. */
  readonly text: string;
  readonly words: readonly string[];
}

/** Ends a command; `&` and `|` as well as `&&` and `||`. */
const SEPARATOR = /^(?:&&|\|\||[|&;\n])/;
const REDIRECTION = /^\d*(?:>>|>&|>|<)\s*/;

/**
 * The commands of a block, for as much of the shell's grammar as the pages use: quotes, comments, pipes, redirections,
 * and lines that go on after a backslash.
 * @throws {Error} for substitutions and control structures: commands on pages are to be plain.
 */
export function commandsOf(block: string): readonly ShellCommand[] {
  const text = block.replaceAll('\\\n', ' ');
  const commands: ShellCommand[] = [];
  let words: string[] = [];
  let start = 0;
  const end = (at: number): void => {
    if (words.length > 0) commands.push({ text: text.slice(start, at).trim(), words });
    words = [];
  };
  let at = 0;
  while (at < text.length) {
    const rest = text.slice(at);
    const separator = SEPARATOR.exec(rest)?.[0];
    const redirection = REDIRECTION.exec(rest)?.[0];
    if (separator !== undefined) {
      end(at);
      at += separator.length;
      start = at;
    } else if (/^[ \t]/.test(rest)) at++;
    else if (rest.startsWith('#')) at += /^.*/.exec(rest)?.[0].length ?? 0;
    else if (redirection === undefined) {
      const [word, length] = wordOf(rest);
      words.push(word);
      at += length;
    } else {
      at += redirection.length;
      at += wordOf(text.slice(at))[1];
    }
  }
  end(at);
  return commands;
}

/** The word that a text begins with, without its quotes, and how long it is with them. */
function wordOf(text: string): [word: string, length: number] {
  let [word, at] = ['', 0];
  for (;;) {
    const rest = text.slice(at);
    const quoted = /^'([^']*)'|^"([^"]*)"/.exec(rest);
    const plain = /^[^\s'"|&;<>#]+|^#/.exec(rest);
    const part = quoted ?? plain;
    if (!part) return [word, at];
    if (part[0].includes('$(') || part[0].includes('`')) {
      throw new Error(`a command has a substitution: ${text.split('\n', 1)[0]}`);
    }
    word += quoted ? (quoted[1] ?? quoted[2] ?? '') : part[0];
    at += part[0].length;
  }
}
