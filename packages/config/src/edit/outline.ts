import type { AST } from 'toml-eslint-parser';
import type { Span } from '@weir/proxy/schema';
import { parseSyntax, type SyntaxSlice } from '../toml/parse.ts';

export type KeyPath = readonly string[];

/** The places of a `key = value` and of its parts. */
interface KeyValue {
  readonly span: Span;
  readonly key: Span;
  /** The names of the dotted key, with their places. */
  readonly names: KeyPath;
  readonly nameSpans: readonly Span[];
  readonly value: Span;
  /** The inline table, if the value is one. */
  readonly table: InlineTable | undefined;
}

/** An inline table. */
export interface InlineTable {
  readonly span: Span;
  readonly body: readonly KeyValue[];
}

/** A `key = value` outside arrays, in the same top-level table as the sought path. */
export interface KeyEntry {
  /** The path from the root of the document. */
  readonly path: KeyPath;
  /** Number of names in `path` that belong to the enclosing table; the others are its own dotted key. */
  readonly owner: number;
  /** Whether the key is inside an inline table. */
  readonly inline: boolean;
  readonly node: KeyValue;
}

/** A `[table]` or `[[array of tables]]` in the same top-level table as the sought path. */
export interface Header {
  readonly path: KeyPath;
  readonly isArray: boolean;
  readonly key: Span;
  /** The place of the header and the keys below it. */
  readonly span: Span;
  /** The last of the keys below the header. */
  readonly last: Span | undefined;
}

/** The parts of a document that concern a path, with their places, in document order. */
export interface Outline {
  readonly text: string;
  readonly entries: readonly KeyEntry[];
  readonly headers: readonly Header[];
  /** The places of all top-level keys and all tables, whatever their path. */
  readonly sections: readonly Span[];
}

export const startsWith = (path: KeyPath, prefix: KeyPath): boolean =>
  prefix.length <= path.length && prefix.every((name, i) => name === path[i]);

export const samePath = (a: KeyPath, b: KeyPath): boolean =>
  a.length === b.length && startsWith(a, b);

/** Whether two paths are in the same top-level table: only such lines can affect an edit. */
const related = (a: KeyPath, b: KeyPath): boolean => a[0] === b[0];

/**
 * Finds the parts of `text`, without a byte order mark, that concern `sought`.
 *
 * @param sliceLength see `slicesOf`.
 * @throws {TomlError} when the text is not TOML
 */
export function outlineOf(text: string, sought: KeyPath, sliceLength?: number): Outline {
  const entries: KeyEntry[] = [];
  const headers: Header[] = [];
  const sections: Span[] = [];
  /** The arrays of tables so far, by their paths as JSON. */
  const arrays = new Set<string>();

  const collect = (owner: KeyPath, body: readonly KeyValue[], inline: boolean): void => {
    for (const node of body) {
      const path = [...owner, ...node.names];
      if (!related(path, sought)) continue;
      entries.push({ path, owner: owner.length, inline, node });
      if (node.table) collect(path, node.table.body, true);
    }
  };

  for (const slice of parseSyntax(text, sliceLength)) {
    slice.checkElements();
    const places = new SpanReader(slice);
    for (const node of slice.program.body[0].body) {
      sections.push(places.spanOf(node));
      if (node.type === 'TOMLKeyValue') {
        if (related(namesOf(node.key), sought)) collect([], [places.keyValue(node)], false);
        continue;
      }
      const path = namesOf(node.key);
      if (!related(path, sought)) continue;
      const header = places.header(node, path);
      headers.push(header);
      if (header.isArray) arrays.add(JSON.stringify(path));
      // Otherwise the table is an element of an array, or inside one.
      const inArray = path.some((_, at) => arrays.has(JSON.stringify(path.slice(0, at + 1))));
      if (!inArray)
        collect(
          path,
          node.body.map((pair) => places.keyValue(pair)),
          false,
        );
    }
  }
  return { text, entries, headers, sections };
}

const namesOf = (key: AST.TOMLKey): string[] =>
  key.keys.map((part) => (part.type === 'TOMLBare' ? part.name : part.value));

/** Copies places from the tree of a slice, so that the tree can be released. */
class SpanReader {
  readonly #slice: SyntaxSlice;

  constructor(slice: SyntaxSlice) {
    this.#slice = slice;
  }

  spanOf({ range: [start, end] }: AST.HasLocs): Span {
    const { base } = this.#slice;
    return { start: base + start, end: base + end };
  }

  header(node: AST.TOMLTable, path: KeyPath): Header {
    const last = node.body.at(-1);
    return {
      path,
      isArray: node.kind === 'array',
      key: this.spanOf(node.key),
      span: this.spanOf(node),
      last: last && this.spanOf(last),
    };
  }

  keyValue(node: AST.TOMLKeyValue): KeyValue {
    const { key, value } = node;
    return {
      span: this.spanOf(node),
      key: this.spanOf(key),
      names: namesOf(key),
      nameSpans: key.keys.map((part) => this.spanOf(part)),
      value: this.spanOf(value),
      table: value.type === 'TOMLInlineTable' ? this.#inlineTable(value) : undefined,
    };
  }

  #inlineTable(table: AST.TOMLInlineTable): InlineTable {
    return {
      span: this.spanOf(table),
      body: table.body.map((pair) => this.keyValue(pair)),
    };
  }
}
