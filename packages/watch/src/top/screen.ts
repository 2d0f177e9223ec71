import type { ScreenSize } from './top-state.ts';
import { lineColumns, lineText, type Line, type ShownStyles } from './line.ts';

/** The part of a terminal's output stream that a screen uses. */
export interface TerminalOutput {
  /** 0, as is `rows`, where the size of the terminal is unknown, such as on a serial line. */
  readonly columns: number;
  readonly rows: number;
  /** @param taken called when the terminal has accepted all of the text, or never will */
  write(text: string, taken: () => void): unknown;
}

/** The assumed size of a terminal whose size is unknown. */
const USUAL_SIZE = { columns: 80, rows: 24 };

export const sizeOf = ({ columns, rows }: TerminalOutput): ScreenSize =>
  columns > 0 && rows > 0 ? { columns, rows } : USUAL_SIZE;

/**
 * xterm's control sequences: alternate screen, hidden cursor, and no wrapping: a name that the terminal draws wider
 * than it was measured, such as some emoji, then stays on its row.
 */
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J';
export const LEAVE = '\x1b[?7h\x1b[?25h\x1b[?1049l';
/** Synchronised output: a terminal that supports it draws a frame at once, others ignore it. */
const BEGIN = '\x1b[?2026h';
const END = '\x1b[?2026l';
const CLEAR = '\x1b[2J';
const CLEAR_TO_END = '\x1b[K';

/**
 * Draws lines on a terminal, of which it writes only the changed ones, a frame in one write. No frame is written until
 * the terminal has accepted the previous one: the next is then the newest, so a slow line skips frames, and at most one
 * is pending.
 */
export class Screen {
  readonly #output: TerminalOutput;
  readonly #styles: ShownStyles;
  /** Text of each row of the terminal; `undefined` if it is not known. */
  #shown: readonly string[] | undefined;
  #size = '';
  /** The newest frame, pending until the terminal is ready. */
  #wanted: readonly Line[] | undefined;
  #isWriting = false;
  #isEntered = false;

  constructor(output: TerminalOutput, styles: ShownStyles) {
    this.#output = output;
    this.#styles = styles;
  }

  enter(): void {
    this.#isEntered = true;
    this.#shown = undefined;
    this.#write(ENTER);
  }

  /** Leaves the alternate screen. Idempotent. Resolves when the terminal has accepted everything, or never will. */
  async leave(): Promise<void> {
    if (!this.#isEntered) return;
    this.#isEntered = false;
    this.#wanted = undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#output.write(LEAVE, resolve);
    await promise;
  }

  /** Rewrites all lines with the next frame, after something else has written to the terminal. */
  redraw(): void {
    this.#shown = undefined;
  }

  show(lines: readonly Line[]): void {
    if (!this.#isEntered) return;
    if (this.#isWriting) {
      this.#wanted = lines;
      return;
    }
    const { columns, rows } = sizeOf(this.#output);
    const size = `${columns} ${rows}`;
    if (size !== this.#size) this.#shown = undefined;
    this.#size = size;
    const texts = Array.from({ length: rows }, (_, row) => {
      const line = lines[row] ?? [];
      // After a full line the cursor is on its last column, which clearing would erase.
      const rest = lineColumns(line) < columns ? CLEAR_TO_END : '';
      return lineText(line, columns, this.#styles) + rest;
    });
    const changed = texts
      .map((text, row) => (text === this.#shown?.[row] ? '' : `\x1b[${row + 1};1H${text}`))
      .join('');
    const clear = this.#shown ? '' : CLEAR;
    this.#shown = texts;
    if (changed !== '') this.#write(`${BEGIN}${clear}${changed}${END}`);
  }

  #write(text: string): void {
    this.#isWriting = true;
    this.#output.write(text, () => {
      this.#isWriting = false;
      const wanted = this.#wanted;
      this.#wanted = undefined;
      if (wanted) this.show(wanted);
    });
  }
}
