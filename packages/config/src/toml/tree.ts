import type { ScalarNode, Span } from '@weir/proxy/schema';
import { WeirError } from '@weir/base';

/** One part of a dotted key or of a table header. */
export interface Name {
  readonly text: string;
  readonly span: Span;
}

/** A TableNode while it is being filled. */
export interface OpenTable {
  readonly kind: 'table';
  span: Span;
  /**
   * How the table was created. Dotted keys may not extend a table that a header created or implied, a
   * header may not reopen a table of dotted keys, and nothing extends an inline table.
   */
  readonly madeBy: 'header' | 'key' | 'braces';
  /** Whether the table's header has been read. */
  isDefined: boolean;
  readonly entries: Map<string, { readonly key: Span; readonly value: OpenNode }>;
}

export interface OpenArray {
  readonly kind: 'array';
  /** How the array was created: one that is a value cannot be extended by headers. */
  readonly madeBy: 'header' | 'key';
  readonly span: Span;
  readonly items: OpenNode[];
}

export type OpenNode = ScalarNode | OpenArray | OpenTable;

export const newTable = (span: Span, madeBy: OpenTable['madeBy']): OpenTable => ({
  kind: 'table',
  span,
  madeBy,
  isDefined: false,
  entries: new Map(),
});

/** Handles `[a.b]`: finds or creates that table below `root`; `header` becomes its place. */
export function openTable(root: OpenTable, path: readonly Name[], header: Span): OpenTable {
  const parent = walk(root, path.slice(0, -1), 'header');
  const last = lastOf(path);
  const existing = parent.entries.get(last.text)?.value;
  if (
    existing !== undefined &&
    (existing.kind !== 'table' || existing.madeBy !== 'header' || existing.isDefined)
  ) {
    throw duplicate(last);
  }
  const table = existing ?? newTable(header, 'header');
  if (!existing) parent.entries.set(last.text, { key: last.span, value: table });
  table.span = header;
  table.isDefined = true;
  return table;
}

/** Handles `[[a.b]]`: appends a table to that array, which is created if missing. */
export function appendTable(root: OpenTable, path: readonly Name[], header: Span): OpenTable {
  const parent = walk(root, path.slice(0, -1), 'header');
  const last = lastOf(path);
  const table = newTable(header, 'header');
  table.isDefined = true;
  const existing = parent.entries.get(last.text)?.value;
  if (existing?.kind === 'array' && existing.madeBy === 'header') existing.items.push(table);
  else if (existing) throw duplicate(last);
  else {
    const value: OpenArray = { kind: 'array', madeBy: 'header', span: header, items: [table] };
    parent.entries.set(last.text, { key: last.span, value });
  }
  return table;
}

/** Handles `a.b = …`: sets a value below `table`, which must not have that key. */
export function setValue(table: OpenTable, path: readonly Name[], value: OpenNode): void {
  const parent = walk(table, path.slice(0, -1), 'key');
  const last = lastOf(path);
  if (parent.entries.has(last.text)) throw duplicate(last);
  parent.entries.set(last.text, { key: last.span, value });
}

/**
 * Descends by names. Missing tables are created; of an array of tables the last is entered.
 * @throws {TomlError} if a name has a value that cannot be extended.
 */
function walk(from: OpenTable, path: readonly Name[], by: 'header' | 'key'): OpenTable {
  let table = from;
  for (const name of path) {
    const existing = table.entries.get(name.text)?.value;
    const isList = existing?.kind === 'array' && existing.madeBy === 'header';
    const next = isList ? existing.items.at(-1) : existing;
    if (
      next &&
      (next.kind !== 'table' ||
        next.madeBy === 'braces' ||
        (by === 'key' && next.madeBy === 'header'))
    ) {
      throw duplicate(name);
    }
    const child = next ?? newTable(name.span, by);
    if (!next) table.entries.set(name.text, { key: name.span, value: child });
    table = child;
  }
  return table;
}

const duplicate = ({ span }: Name): TomlError => new TomlError('duplicate key', span);

function lastOf(path: readonly Name[]): Name {
  const last = path.at(-1);
  if (!last) throw new RangeError('a TOML key has at least one part');
  return last;
}

/** The error of a document that is not TOML; `span` is the first invalid place. */
export class TomlError extends WeirError {
  readonly span: Span;

  constructor(message: string, span: Span, options?: ErrorOptions) {
    super('toml', message, options);
    this.span = span;
  }
}
