import { DecodeError, FirstError } from './errors.ts';
import type { Node, Span, TableNode } from './node.ts';
import { describe, describeKind, expectedOneOf } from './words.ts';

/**
 * Turns a node into a value.
 *
 * @throws {DecodeError} for the first part, in document order, that has the wrong shape. The texts are
 *   those of Rust's serde, as specified.
 */
export type Decoder<T> = (node: Node) => T;

/** A value with its place, for later checks. */
export interface Located<T> {
  readonly value: T;
  readonly span: Span;
}

/** For values that may be a secret, and in the place of a list or a table that may hold one. */
const withoutValue = (node: Node, wanted: string): DecodeError =>
  new DecodeError(`invalid type: ${describeKind(node)}, expected ${wanted}`, node.span);

const wrongType = (node: Node, wanted: string): DecodeError =>
  new DecodeError(`invalid type: ${describe(node)}, expected ${wanted}`, node.span);

export const str: Decoder<string> = (node) => {
  if (node.kind !== 'string') throw wrongType(node, 'a string');
  return node.value;
};

/** A string whose wrong types are named without their value: `pass = 1234` must not reach a log. */
export const secret: Decoder<string> = (node) => {
  if (node.kind === 'string') return node.value;
  throw withoutValue(node, 'a string');
};

export const bool: Decoder<boolean> = (node) => {
  if (node.kind !== 'boolean') throw wrongType(node, 'a boolean');
  return node.value;
};

/** An unsigned integer of so many bits. */
const unsigned =
  (bits: bigint): Decoder<bigint> =>
  (node) => {
    const name = `u${bits}`;
    if (node.kind !== 'integer') throw wrongType(node, name);
    if (node.value >= 0n && node.value < 1n << bits) return node.value;
    const message = `invalid value: integer \`${node.value}\`, expected ${name}`;
    throw new DecodeError(message, node.span);
  };

const wideU8 = unsigned(8n);
const wideU16 = unsigned(16n);

export const u8: Decoder<number> = (node) => Number(wideU8(node));
export const u16: Decoder<number> = (node) => Number(wideU16(node));
export const u64: Decoder<bigint> = unsigned(64n);

/** One of a few words. */
export function variant<const Names extends readonly string[]>(
  ...names: Names
): Decoder<Names[number]> {
  return (node) => {
    const text = str(node);
    const found: Names[number] | undefined = names.find((name) => name === text);
    if (found !== undefined) return found;
    const message = `unknown variant \`${text}\`, ${expectedOneOf(names)}`;
    throw new DecodeError(message, node.span);
  };
}

export const array =
  <T>(item: Decoder<T>): Decoder<readonly T[]> =>
  (node) => {
    if (node.kind !== 'array') throw withoutValue(node, 'a sequence');
    const values: T[] = [];
    const errors = new FirstError();
    for (const part of node.items) errors.attempt(() => values.push(item(part)));
    errors.throwIfAny();
    return values;
  };

/** A table whose keys are names chosen by its author. */
export const record =
  <T>(item: Decoder<T>): Decoder<ReadonlyMap<string, T>> =>
  (node) => {
    const values = new Map<string, T>();
    const errors = new FirstError();
    for (const [name, { value }] of table(node).entries) {
      errors.attempt(() => values.set(name, item(value)));
    }
    errors.throwIfAny();
    return values;
  };

/** Any table, not yet decoded: its keys are defined elsewhere. */
export const table: Decoder<TableNode> = (node) => {
  if (node.kind !== 'table') throw withoutValue(node, 'a table');
  return node;
};

/** Any value at all, not yet decoded. */
export const anything: Decoder<Node> = (node) => node;

export const located =
  <T>(inner: Decoder<T>): Decoder<Located<T>> =>
  (node) => ({ value: inner(node), span: node.span });

/** A table with its place beside its keys. */
export const spanned =
  <T extends object>(inner: Decoder<T>): Decoder<T & { readonly span: Span }> =>
  (node) => ({ ...inner(node), span: node.span });

/** Converts a decoded value; `convert` throws the error that `reject` makes of a message. */
export const converted =
  <T, U>(
    inner: Decoder<T>,
    convert: (value: T, reject: (message: string) => DecodeError) => U,
  ): Decoder<U> =>
  (node) =>
    convert(inner(node), (message) => new DecodeError(message, node.span));
