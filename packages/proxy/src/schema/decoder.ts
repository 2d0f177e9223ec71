import { DecodeError, describeKind, describeNode, expectedOneOf, FirstError } from './errors.ts';
import type { Node, Span, TableNode } from './node.ts';
import { DISCLOSURE, type Shape, shaped } from './shape.ts';

/**
 * Turns a node into a value.
 *
 * @throws {DecodeError} for the first invalid part in document order, with the specified texts of
 *   Rust's serde.
 */
export interface Decoder<T> {
  (node: Node): T;
  /** The values that the decoder accepts; any if absent. */
  readonly shape?: Shape;
}

/** A value with its place, for later errors. */
export interface Located<T> {
  readonly value: T;
  readonly span: Span;
}

/** Returns an error that does not quote the value, which may be, or hold, a secret. */
const withoutValue = (node: Node, wanted: string, hint?: string): DecodeError =>
  new DecodeError(`invalid type: ${describeKind(node)}, expected ${wanted}`, node.span, { hint });

const wrongType = (node: Node, wanted: string, hint?: string): DecodeError =>
  new DecodeError(`invalid type: ${describeNode(node)}, expected ${wanted}`, node.span, { hint });

/** Hint for a value that is not a string. */
const QUOTED = 'a text has quotes around it';

const isScalar = ({ kind }: Node): boolean => kind !== 'array' && kind !== 'table';

const ONE_TEXT = 'write one text, without brackets';

function textHint(node: Node): string | undefined {
  if (node.kind === 'array') return ONE_TEXT;
  if (node.kind === 'integer' || node.kind === 'boolean') return `${QUOTED}: "${node.value}"`;
  return isScalar(node) ? QUOTED : undefined;
}

export const str: Decoder<string> = shaped(
  (node) => {
    if (node.kind !== 'string') throw wrongType(node, 'a string', textHint(node));
    return node.value;
  },
  { type: 'string' },
);

/** A string whose errors never quote the value: `pass = 1234` must not reach a log. */
export const secret: Decoder<string> = shaped(
  (node) => {
    if (node.kind === 'string') return node.value;
    const hint = node.kind === 'array' ? ONE_TEXT : QUOTED;
    throw withoutValue(node, 'a string', node.kind === 'table' ? undefined : hint);
  },
  { type: 'string', [DISCLOSURE]: 'secret' },
);

export const bool: Decoder<boolean> = shaped(
  (node) => {
    if (node.kind !== 'boolean')
      throw wrongType(node, 'a boolean', 'write true or false, without quotes');
    return node.value;
  },
  { type: 'boolean' },
);

const rangeOf = (bits: bigint): string =>
  bits === 64n ? 'a whole number, 0 or more' : `a whole number from 0 to ${(1n << bits) - 1n}`;

/** Returns a hint for a value that is not an integer. */
function numberHint(node: Node, bits: bigint): string {
  const text = node.kind === 'string' ? node.value.trim() : '';
  if (/^\d{1,19}$/.test(text)) return `write the number without quotes: ${text}`;
  if (bits === 16n && /^\d+ *[-,:]/.test(text)) {
    return 'write one number: ranges and port hopping are not supported';
  }
  const seconds = /^(\d{1,9}) ?s$/.exec(text)?.[1];
  return seconds === undefined
    ? `write ${rangeOf(bits)}, without quotes`
    : `write the seconds alone, without quotes: ${seconds}`;
}

/** An unsigned integer of `bits` bits. */
const unsigned =
  (bits: bigint): Decoder<bigint> =>
  (node) => {
    const name = `u${bits}`;
    if (node.kind !== 'integer') throw wrongType(node, name, numberHint(node, bits));
    if (node.value >= 0n && node.value < 1n << bits) return node.value;
    const message = `invalid value: integer \`${node.value}\`, expected ${name}`;
    throw new DecodeError(message, node.span, { hint: `write ${rangeOf(bits)}` });
  };

const integerShape = (bits: number): Shape => ({
  type: 'integer',
  minimum: 0,
  maximum: 2 ** bits - 1,
});

const wideU8 = unsigned(8n);
const wideU16 = unsigned(16n);

export const u8: Decoder<number> = shaped((node) => Number(wideU8(node)), integerShape(8));
export const u16: Decoder<number> = shaped((node) => Number(wideU16(node)), integerShape(16));
export const u64: Decoder<bigint> = shaped(unsigned(64n), { type: 'integer', minimum: 0 });

/** Decodes one of a fixed list of words. */
export function variant<const Names extends readonly string[]>(
  ...names: Names
): Decoder<Names[number]> {
  return shaped<Decoder<Names[number]>>(
    (node) => {
      const text = str(node);
      const found: Names[number] | undefined = names.find((name) => name === text);
      if (found !== undefined) return found;
      const message = `unknown variant \`${text}\`, ${expectedOneOf(names)}`;
      throw new DecodeError(message, node.span);
    },
    { type: 'string', enum: names },
  );
}

const TWO_BRACKETS =
  'there may be several of these, so the header of each has two brackets, [[name]] in place of [name], or the value is a list: [{ … }]';

const LONGEST_SHOWN = 60;

/** Returns a hint for a value that is not a list; a string is quoted if the schema declares it public. */
function listHint(node: Node, item: Shape | undefined): string | undefined {
  if (node.kind === 'table') return item?.type === 'object' ? TWO_BRACKETS : undefined;
  if (item?.type === 'object') return 'write a list of tables: [{ … }]';
  if (item?.type !== 'string') return 'write a list: […]';
  const text = node.kind === 'string' || node.kind === 'integer' ? String(node.value) : '';
  const isShown =
    item[DISCLOSURE] === 'public' && text.length <= LONGEST_SHOWN && !/[@=]|:\/\//.test(text);
  return `write a list of texts: [${isShown && text !== '' ? JSON.stringify(text) : '"…"'}]`;
}

export const array = <T>(item: Decoder<T>): Decoder<readonly T[]> =>
  shaped<Decoder<readonly T[]>>(
    (node) => {
      if (node.kind !== 'array') {
        throw withoutValue(node, 'a sequence', listHint(node, item.shape));
      }
      const values: T[] = [];
      const errors = new FirstError();
      for (const part of node.items) errors.attempt(() => values.push(item(part)));
      errors.throwIfAny();
      return values;
    },
    { type: 'array', ...(item.shape && { items: item.shape }) },
  );

/** Decodes a table with arbitrary keys. */
export const record = <T>(item: Decoder<T>): Decoder<ReadonlyMap<string, T>> =>
  shaped<Decoder<ReadonlyMap<string, T>>>(
    (node) => {
      const values = new Map<string, T>();
      const errors = new FirstError();
      for (const [name, { value }] of table(node).entries) {
        errors.attempt(() => values.set(name, item(value)));
      }
      errors.throwIfAny();
      return values;
    },
    { type: 'object', ...(item.shape && { additionalProperties: item.shape }) },
  );

/** Accepts any table without decoding it. @param hint for a value that is not a table */
export const tableWith = (hint?: (node: Node) => string): Decoder<TableNode> =>
  shaped<Decoder<TableNode>>(
    (node) => {
      if (node.kind !== 'table') throw withoutValue(node, 'a table', hint?.(node));
      return node;
    },
    { type: 'object' },
  );

export const table = tableWith();

/** Accepts any value without decoding it. */
export const anything: Decoder<Node> = (node) => node;

export const located = <T>(inner: Decoder<T>): Decoder<Located<T>> =>
  shaped<Decoder<Located<T>>>(
    (node) => ({ value: inner(node), span: node.span }),
    inner.shape ?? {},
  );

/** A decoded table with its place as `span`. */
export const spanned = <T extends object>(
  inner: Decoder<T>,
): Decoder<T & { readonly span: Span }> =>
  shaped<Decoder<T & { readonly span: Span }>>(
    (node) => ({ ...inner(node), span: node.span }),
    inner.shape ?? {},
  );

/** Creates the error of a value; `hint` adds a line to a specified text. */
export type Reject = (message: string, hint?: string) => DecodeError;

/** Converts a decoded value; `convert` throws the error that `reject` creates. */
export const converted = <T, U>(
  inner: Decoder<T>,
  convert: (value: T, reject: Reject) => U,
): Decoder<U> =>
  shaped<Decoder<U>>(
    (node) =>
      convert(inner(node), (message, hint) => new DecodeError(message, node.span, { hint })),
    inner.shape ?? {},
  );

/** Returns a decoder with a narrower shape, for constraints that are checked elsewhere. */
export const narrowed = <T>(decoder: Decoder<T>, shape: Shape): Decoder<T> =>
  shaped<Decoder<T>>((node) => decoder(node), { ...decoder.shape, ...shape });

/** Returns a decoder of values that are never confidential: errors may quote their lines. */
export const disclosed = <T>(decoder: Decoder<T>): Decoder<T> =>
  narrowed(decoder, { [DISCLOSURE]: 'public' });
