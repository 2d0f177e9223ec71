import { printable, printableLines } from '@weir/base/printable';
import type { Span } from '@weir/proxy/schema';
import {
  ConfigError,
  type ConfigErrorKind,
  type ConfigErrorOptions,
  type ConfigLocation,
} from '../errors.ts';

/** The text of a configuration file, for errors with a line and column. */
export class SourceText {
  readonly text: string;
  readonly file: string | undefined;
  /** Number of characters at the start that npm has written: see `npmHeader`. */
  readonly npmHeader: number;
  /** Offsets of the lines, computed on first use. */
  #lineStarts: readonly number[] | undefined;

  constructor(text: string, file: string | undefined, npmHeader = 0) {
    this.text = text;
    this.file = file;
    this.npmHeader = npmHeader;
  }

  locate(offset: number): ConfigLocation {
    const starts = (this.#lineStarts ??= lineStarts(this.text));
    let line = 0;
    // The last line that begins at `offset` or before it.
    for (let end = starts.length; line + 1 < end;) {
      const middle = (line + end) >>> 1;
      if ((starts[middle] ?? 0) <= offset) line = middle;
      else end = middle;
    }
    const before = this.text.slice(starts[line], offset);
    return { file: this.file, line: line + 1, column: characters(before) + 1 };
  }

  /**
   * Creates an error whose place is separate from its message, or that concerns the whole document. The message may
   * quote names, and is escaped into one line unless `severalLines` is set.
   */
  error(
    kind: ConfigErrorKind,
    message: string,
    span: Span | undefined,
    options?: ConfigErrorOptions,
  ): ConfigError {
    const location = span && this.locate(span.start);
    const text = options?.severalLines === true ? printableLines(message) : printable(message);
    return new ConfigError(kind, text, { location, ...options });
  }
}

function lineStarts(text: string): readonly number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

/** Returns the length of a text in characters, not UTF-16 units. */
export const characters = (text: string): number => Array.from(text).length;
