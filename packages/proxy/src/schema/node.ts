/**
 * The values of a document, each with its place. Only the parser that creates these nodes depends
 * on the format (TOML); decoders do not.
 */

/** A half-open range of UTF-16 offsets into the document's text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface StringNode {
  readonly kind: 'string';
  readonly span: Span;
  readonly value: string;
}

export interface IntegerNode {
  readonly kind: 'integer';
  readonly span: Span;
  readonly value: bigint;
}

export interface FloatNode {
  readonly kind: 'float';
  readonly span: Span;
  readonly value: number;
}

export interface BooleanNode {
  readonly kind: 'boolean';
  readonly span: Span;
  readonly value: boolean;
}

export interface DatetimeNode {
  readonly kind: 'datetime';
  readonly span: Span;
  /** The digits as written. */
  readonly value: string;
}

export interface ArrayNode {
  readonly kind: 'array';
  readonly span: Span;
  readonly items: readonly Node[];
}

export interface TableNode {
  readonly kind: 'table';
  /** The header of a table, the braces of an inline table, or the key of an implied table. */
  readonly span: Span;
  /** Entries in the order in which their keys first appear. */
  readonly entries: ReadonlyMap<string, TableEntry>;
}

/** One key of a table: its place and its value. */
export interface TableEntry {
  readonly key: Span;
  readonly value: Node;
}

export type ScalarNode = StringNode | IntegerNode | FloatNode | BooleanNode | DatetimeNode;
export type Node = ScalarNode | ArrayNode | TableNode;

/** Returns an absent table, at the place of its parent. */
export const emptyTable = (span: Span): TableNode => ({ kind: 'table', span, entries: new Map() });

/** Values of tables whose shape has been checked before, for code that reads single keys. */

/** Returns the value of a key; `undefined` without it. */
export const valueAt = (table: TableNode, key: string): Node | undefined =>
  table.entries.get(key)?.value;

/** Returns the text of a key; `undefined` without it. */
export function textAt(table: TableNode, key: string): string | undefined {
  const node = valueAt(table, key);
  return node?.kind === 'string' ? node.value : undefined;
}

/** Whether a key is the number 0. */
export function isZeroAt(table: TableNode, key: string): boolean {
  const node = valueAt(table, key);
  return node?.kind === 'integer' && node.value === 0n;
}

/** Returns the tables of a list; none without the key. */
export function tablesAt(table: TableNode, key: string): readonly TableNode[] {
  const node = valueAt(table, key);
  return node?.kind === 'array' ? node.items.filter((item) => item.kind === 'table') : [];
}
