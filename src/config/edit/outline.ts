import type { AST } from 'toml-eslint-parser';
import { parseSyntax } from '../toml/parse.ts';

export type KeyPath = readonly string[];

/** A `key = value`, outside arrays, in the same table of the root as what is sought. */
export interface KeyEntry {
  /** From the root of the document. */
  readonly path: KeyPath;
  /** How much of `path` is the table that the line stands in; the rest is its own dotted key. */
  readonly owner: number;
  /** It stands between the braces of an inline table. */
  readonly inline: boolean;
  readonly node: AST.TOMLKeyValue;
}

/** A `[table]` or `[[array of tables]]` in the same table of the root as what is sought. */
export interface Header {
  readonly path: KeyPath;
  readonly node: AST.TOMLTable;
}

/** The parts of a document that concern one path, with their places, in document order. */
export interface Outline {
  readonly text: string;
  readonly entries: readonly KeyEntry[];
  readonly headers: readonly Header[];
  /** Every top-level key and every table, whatever its path. */
  readonly sections: readonly (AST.TOMLKeyValue | AST.TOMLTable)[];
  readonly tokens: readonly AST.Token[];
}

export const namesOf = (key: AST.TOMLKey): string[] =>
  key.keys.map((part) => (part.type === 'TOMLBare' ? part.name : part.value));

export const startsWith = (path: KeyPath, prefix: KeyPath): boolean =>
  prefix.length <= path.length && prefix.every((name, i) => name === path[i]);

export const samePath = (a: KeyPath, b: KeyPath): boolean =>
  a.length === b.length && startsWith(a, b);

/** Whether both lie in the same table of the root: only such lines can affect an edit. */
const related = (a: KeyPath, b: KeyPath): boolean => a[0] === b[0];

/**
 * Finds the parts of `text`, without a byte order mark, that concern `sought`.
 *
 * @throws {TomlError} when it is not TOML
 */
export function outlineOf(text: string, sought: KeyPath): Outline {
  const program = parseSyntax(text);
  const sections = program.body[0].body;
  const entries: KeyEntry[] = [];
  const headers: Header[] = [];

  const collect = (owner: KeyPath, body: readonly AST.TOMLKeyValue[], inline: boolean): void => {
    for (const node of body) {
      const path = [...owner, ...namesOf(node.key)];
      if (!related(path, sought)) continue;
      entries.push({ path, owner: owner.length, inline, node });
      if (node.value.type === 'TOMLInlineTable') collect(path, node.value.body, true);
    }
  };

  for (const node of sections) {
    if (node.type === 'TOMLKeyValue') {
      collect([], [node], false);
      continue;
    }
    const path = namesOf(node.key);
    if (!related(path, sought)) continue;
    headers.push({ path, node });
    // A number in the resolved key is an index: the table is an element of an array.
    const inArray = node.resolvedKey.some((part) => typeof part === 'number');
    if (!inArray) collect(path, node.body, false);
  }
  return { text, entries, headers, sections, tokens: program.tokens };
}
