import type { Node, Span, TableEntry } from '@weir/proxy/schema';
import type { ConfigError, ConfigErrorKind, ConfigErrorOptions, ConfigLocation } from './errors.ts';
import type { SourceText } from './sources/source-text.ts';

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
