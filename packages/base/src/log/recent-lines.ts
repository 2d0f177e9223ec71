import { Fifo } from '../collections/fifo.ts';
import type { LogFields, LogLevel } from './logger.ts';

/** A line that has passed the filter of its log, before an output has formatted it. */
export interface WrittenLine {
  /** Time at which the line was written, in Unix milliseconds with fractions. */
  readonly at: number;
  readonly level: LogLevel;
  readonly target: string;
  /** The printable message, with line feeds between the lines of a record. */
  readonly message: string;
  readonly fields: LogFields | undefined;
}

/** Number of lines that are kept. */
const MAX_LINES = 200;
/** Total characters of the messages that are kept. */
const MAX_CHARS = 1 << 16;

/**
 * The latest lines of a log, and its reader. A line costs one small object, because nothing is formatted before it
 * is read.
 */
export class RecentLines {
  /** Called with each line; must neither throw nor log. */
  reader: ((line: WrittenLine) => void) | undefined;
  readonly #lines = new Fifo<WrittenLine>();
  #chars = 0;

  add(level: LogLevel, target: string, message: string, fields: LogFields | undefined): void {
    const at = performance.timeOrigin + performance.now();
    const line: WrittenLine = { at, level, target, message, fields };
    this.#lines.push(line);
    this.#chars += message.length;
    while (this.#lines.size > MAX_LINES || this.#chars > MAX_CHARS) {
      this.#chars -= this.#lines.shift()?.message.length ?? 0;
    }
    this.reader?.(line);
  }

  /** Returns the kept lines, oldest first. */
  latest(): readonly WrittenLine[] {
    return Array.from({ length: this.#lines.size }, (_, index) => this.#lines.at(index)).filter(
      (line) => line !== undefined,
    );
  }
}
