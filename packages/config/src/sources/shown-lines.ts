import { shownLine } from '../shown-line.ts';
import { visible } from './decode-source.ts';
import { withShownKeys } from './documents.ts';

/** A line of a document, with possible secrets starred and unprintable characters replaced. */
interface ShownLine {
  /** The line number, from 1. */
  readonly line: number;
  readonly text: string;
}

/** Lines that are shown at once; each costs a pass over the text before it. */
const MOST_LINES = 64;
/** Characters of a line that are shown. */
const MOST_CHARACTERS = 400;

/**
 * Lines of a document as errors show them, from `first` to `last` as far as they exist, at most 64.
 * @param text without a byte order mark
 */
export function shownLines(
  text: string,
  first: number,
  last: number,
): Promise<readonly ShownLine[]> {
  return withShownKeys(() => {
    const shown: ShownLine[] = [];
    const from = Math.max(1, first);
    const to = Math.min(last, from + MOST_LINES - 1);
    let start = 0;
    for (let line = 1; line <= to; line++) {
      const newline = text.indexOf('\n', start);
      const end = newline < 0 ? text.length : newline;
      if (line >= from) {
        const whole = shownLine(text, start, text[end - 1] === '\r' ? end - 1 : end);
        const cut = whole.length > MOST_CHARACTERS ? `${whole.slice(0, MOST_CHARACTERS)}…` : whole;
        shown.push({ line, text: visible(cut.toWellFormed()) });
      }
      if (newline < 0) break;
      start = newline + 1;
    }
    return shown;
  });
}
