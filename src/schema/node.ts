/**
 * The values of a document, each with its place. Only the reader that makes these nodes depends on the
 * document format (TOML); decoders of settings do not.
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
  /** As written. */
  readonly value: string;
}

export interface ArrayNode {
  readonly kind: 'array';
  readonly span: Span;
  readonly items: readonly Node[];
}

export interface TableNode {
  readonly kind: 'table';
  /** The header of a table, the braces of an inline table, the key of one that is only implied. */
  readonly span: Span;
  /** In the order in which the keys first appear. */
  readonly entries: ReadonlyMap<string, TableEntry>;
}

/** One key of a table: where the key stands and what it holds. */
export interface TableEntry {
  readonly key: Span;
  readonly value: Node;
}

export type ScalarNode = StringNode | IntegerNode | FloatNode | BooleanNode | DatetimeNode;
export type Node = ScalarNode | ArrayNode | TableNode;

/** A table that was left out, at the place where it could have been. */
export const emptyTable = (span: Span): TableNode => ({ kind: 'table', span, entries: new Map() });
