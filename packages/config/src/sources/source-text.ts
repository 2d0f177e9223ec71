import { printable, printableLines } from '@weir/base/printable';
import type { Span, TableEntry, Node } from '@weir/proxy/schema';
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

export const shiftSpan = ({ start, end }: Span, by: number): Span => ({
  start: start + by,
  end: end + by,
});

/** Returns a copy of a node whose spans are shifted by `by` characters. */
export function shiftNode(node: Node, by: number): Node {
  const span = shiftSpan(node.span, by);
  switch (node.kind) {
    case 'array':
      return { ...node, span, items: node.items.map((item) => shiftNode(item, by)) };
    case 'table': {
      const shifted = ([name, { key, value }]: readonly [string, TableEntry]): [
        string,
        TableEntry,
      ] => [name, { key: shiftSpan(key, by), value: shiftNode(value, by) }];
      return { ...node, span, entries: new Map(Array.from(node.entries, shifted)) };
    }
    case 'string':
    case 'integer':
    case 'float':
    case 'boolean':
    case 'datetime':
      return { ...node, span };
    default:
      return node satisfies never;
  }
}

/** Converts offsets to lines and columns, and creates errors with them. A `SourceText` does this for one file. */
export type Places = Pick<SourceText, 'error' | 'locate'>;

/**
 * Two files as one text: offsets in the second are larger than any in the first, so that an offset
 * identifies its file and all offsets have one order.
 */
export class JoinedPlaces implements Places {
  readonly #first: SourceText;
  readonly #second: SourceText;

  constructor(first: SourceText, second: SourceText) {
    this.#first = first;
    this.#second = second;
  }

  error(
    kind: ConfigErrorKind,
    message: string,
    span: Span | undefined,
    options?: ConfigErrorOptions,
  ): ConfigError {
    const base = baseAfter(this.#first);
    if (!span || span.start < base) return this.#first.error(kind, message, span, options);
    return this.#second.error(kind, message, shiftSpan(span, -base), options);
  }

  locate(offset: number): ConfigLocation {
    const base = baseAfter(this.#first);
    return offset < base ? this.#first.locate(offset) : this.#second.locate(offset - base);
  }
}

/** Returns the offset at which a file that follows `source` begins; the end of `source` still belongs to `source`. */
export const baseAfter = ({ text }: SourceText): number => text.length + 1;
