import { type AST, ParseError, parseTOML, traverseNodes } from 'toml-eslint-parser';
import type { ScalarNode, Span } from '@weir/proxy/schema';
import {
  appendTable,
  type Name,
  newTable,
  type OpenNode,
  type OpenTable,
  openTable,
  setValue,
  TomlError,
} from './tree.ts';
import { type LongArray, longArraysOf, SLICE, type Slice, slicesOf } from './slices.ts';
import {
  type LongString,
  longStrings,
  piecesOf,
  placeholderEnd,
  withoutLongStrings,
} from './long-strings.ts';

/**
 * TOML integers have 64 signed bits; the range up to the maximum of a `u64` is for keys of that
 * type.
 */
const LEAST_INTEGER = -(2n ** 63n);
const GREATEST_INTEGER = 2n ** 64n - 1n;

/**
 * Reads a TOML document without its byte order mark.
 * @param sliceLength see `slicesOf`.
 * @throws {TomlError} when it is invalid.
 */
export function parseToml(text: string, sliceLength?: number): OpenTable {
  const root = newTable({ start: 0, end: 0 }, 'header');
  for (const slice of parseSyntax(text, sliceLength)) {
    const [document] = slice.program.body;
    try {
      const reader = new TreeReader(text, slice);
      for (const part of document.body) {
        if (part.type === 'TOMLTable') reader.readTable(root, part);
        else reader.readKeyValue(root, part);
      }
    } catch (error) {
      throw toTomlError(error, text, 0);
    }
  }
  return root;
}

/**
 * Yields the syntax trees of a TOML document without its byte order mark, one slice after another, so that
 * the memory of a slice can be reclaimed before the next. Tables that are defined twice are
 * detected only within one slice.
 * @param sliceLength see `slicesOf`.
 * @throws {TomlError} when it is invalid.
 */
export function* parseSyntax(text: string, sliceLength?: number): Generator<SyntaxSlice> {
  refuseBareCarriageReturn(text);
  let failed: { readonly start: number; readonly error: unknown } | undefined;
  for (const slice of slicesOf(text, sliceLength)) {
    const start = failed?.start ?? slice.start;
    try {
      const parsed = parseSlice(text, { start, end: slice.end }, sliceLength);
      if (failed) throw failed.error;
      yield parsed;
    } catch (error) {
      if (!isParseError(error)) throw error;
      const found = toTomlError(error, text.slice(start, slice.end), start);
      // An error at the end of a slice is clearer with the text that follows it.
      if (failed || slice.end === text.length) throw found;
      failed = { start, error: found };
    }
  }
}

const isParseError = (error: unknown): boolean =>
  error instanceof ParseError || error instanceof PartParseError || error instanceof RangeError;

/**
 * Parses a slice.
 * @throws the parser's errors: see `parseText`.
 */
function parseSlice(text: string, slice: Slice, length?: number): SyntaxSlice {
  const arrays =
    slice.end - slice.start > (length ?? SLICE) ? longArraysOf(text, slice, length) : [];
  const whole = text.slice(slice.start, slice.end);
  if (arrays.length > 0) {
    try {
      return new SyntaxSlice(text, slice, parseText(withoutElements(whole, slice, arrays)), arrays);
    } catch (error) {
      // The error is reported for the original text.
      if (!(error instanceof ParseError || error instanceof PartParseError)) throw error;
    }
  }
  return new SyntaxSlice(text, slice, parseText(whole), []);
}

/** Returns a slice with the elements of its long arrays replaced by white space. */
function withoutElements(whole: string, { start }: Slice, arrays: readonly LongArray[]): string {
  const parts: string[] = [];
  let from = 0;
  for (const { open, close } of arrays) {
    parts.push(whole.slice(from, open - start + 1), ' '.repeat(close - open - 1));
    from = close - start;
  }
  return parts.join('') + whole.slice(from);
}

/** A slice of a document, and its syntax tree, in which long arrays have no elements. */
export class SyntaxSlice {
  readonly program: AST.TOMLProgram;
  /** The offset of the tree's places in the document. */
  readonly base: number;
  readonly #text: string;
  readonly #slice: Slice;
  readonly #arrays: ReadonlyMap<number, LongArray>;

  constructor(text: string, slice: Slice, program: AST.TOMLProgram, arrays: readonly LongArray[]) {
    this.program = program;
    this.base = slice.start;
    this.#text = text;
    this.#slice = slice;
    this.#arrays = new Map(arrays.map((array) => [array.open, array]));
  }

  /**
   * Yields the elements of an array of the tree in pieces, each with the offset of its places.
   * @param base the offset of the array's own places.
   * @throws {TomlError} when a piece is invalid.
   */
  *elementsOf(
    array: AST.TOMLArray,
    base: number,
  ): Generator<{ readonly elements: readonly AST.TOMLContentNode[]; readonly base: number }> {
    const long = this.#arrays.get(base + array.range[0]);
    if (!long) {
      yield { elements: array.elements, base };
      return;
    }
    for (const [index, from] of long.pieces.entries()) {
      const piece = this.#text.slice(from, long.pieces[index + 1] ?? long.close);
      yield { elements: this.#elementsIn(piece, from), base: from - PIECE_START.length };
    }
  }

  /**
   * Checks the elements that are not in the tree, for callers that do not read them.
   *
   * @throws {TomlError}
   */
  checkElements(): void {
    for (const { close, pieces } of this.#arrays.values()) {
      for (const [index, from] of pieces.entries()) {
        this.#elementsIn(this.#text.slice(from, pieces[index + 1] ?? close), from);
      }
    }
  }

  #elementsIn(piece: string, from: number): readonly AST.TOMLContentNode[] {
    try {
      const [only] = parseText(`${PIECE_START}${piece}\n]`).body[0].body;
      const value = only?.type === 'TOMLKeyValue' ? only.value : undefined;
      return value?.type === 'TOMLArray' ? value.elements : [];
    } catch (error) {
      this.#refuse();
      throw toTomlError(error, piece, from - PIECE_START.length);
    }
  }

  /** Throws the parser's error for the original slice. */
  #refuse(): void {
    const { start, end } = this.#slice;
    const whole = this.#text.slice(start, end);
    try {
      parseText(whole);
    } catch (error) {
      throw toTomlError(error, whole, start);
    }
  }
}

/** Turns a piece of an array into a document; a comment at its end needs a line end. */
const PIECE_START = 'x=[';

/** Throws for a bare carriage return, which the parser accepts as a line end but TOML does not allow. */
function refuseBareCarriageReturn(text: string): void {
  const start = text.search(/\r(?!\n)/);
  if (start < 0) return;
  throw new TomlError('carriage return without a line feed', { start, end: start + 1 });
}

/** Adds the contents of a slice to the tree, with places in the document. */
class TreeReader {
  readonly #text: string;
  readonly #slice: SyntaxSlice;
  #base: number;

  constructor(text: string, slice: SyntaxSlice) {
    this.#text = text;
    this.#slice = slice;
    this.#base = slice.base;
  }

  readTable(root: OpenTable, { key, kind, range, body }: AST.TOMLTable): void {
    const closing = kind === 'array' ? ']]' : ']';
    const behindKey = this.#base + key.range[1];
    const header = {
      start: this.#base + range[0],
      end: this.#text.indexOf(closing, behindKey) + closing.length,
    };
    const open = kind === 'array' ? appendTable : openTable;
    const table = open(root, this.#namesOf(key), header);
    for (const pair of body) this.readKeyValue(table, pair);
  }

  readKeyValue(table: OpenTable, { key, value }: AST.TOMLKeyValue): void {
    setValue(table, this.#namesOf(key), this.#toNode(value));
  }

  #toNode(content: AST.TOMLContentNode): OpenNode {
    const span = this.#spanOf(content);
    switch (content.type) {
      case 'TOMLArray': {
        const items: OpenNode[] = [];
        const outer = this.#base;
        for (const { elements, base } of this.#slice.elementsOf(content, outer)) {
          this.#base = base;
          for (const element of elements) items.push(this.#toNode(element));
        }
        this.#base = outer;
        return { kind: 'array', madeBy: 'key', span, items };
      }
      case 'TOMLInlineTable': {
        const table = newTable(span, 'braces');
        for (const pair of content.body) this.readKeyValue(table, pair);
        return table;
      }
      case 'TOMLValue':
        return toScalar(content, span);
      default:
        return content satisfies never;
    }
  }

  #namesOf(key: AST.TOMLKey): Name[] {
    return key.keys.map((part) => ({ text: textOf(part), span: this.#spanOf(part) }));
  }

  #spanOf({ range: [start, end] }: AST.HasLocs): Span {
    return { start: this.#base + start, end: this.#base + end };
  }
}

const textOf = (part: AST.TOMLBare | AST.TOMLQuoted): string =>
  part.type === 'TOMLBare' ? part.name : part.value;

function toScalar(content: AST.TOMLValue, span: Span): ScalarNode {
  switch (content.kind) {
    case 'string':
      return { kind: 'string', span, value: content.value };
    case 'boolean':
      return { kind: 'boolean', span, value: content.value };
    case 'integer': {
      const value = content.bigint;
      if (value >= LEAST_INTEGER && value <= GREATEST_INTEGER) {
        return { kind: 'integer', span, value };
      }
      throw new TomlError('integer number does not fit in 64 bits', span);
    }
    case 'float':
      // Infinity is written `inf`; digits that evaluate to it overflow the type.
      if (Number.isFinite(content.value) || !/\d/.test(content.number)) {
        return { kind: 'float', span, value: content.value };
      }
      throw new TomlError('floating-point number overflowed', span);
    case 'offset-date-time':
    case 'local-date-time':
    case 'local-date':
    case 'local-time':
      return { kind: 'datetime', span, value: content.datetime };
    default:
      return content satisfies never;
  }
}

/** Returns the end of a document without trailing white space. */
function contentEnd(text: string): number {
  let end = text.length;
  while (end > 0 && ' \t\r\n'.includes(text.charAt(end - 1))) end--;
  return end;
}

/** The digits of an escape, which are part of a value that may be a secret. */
const CODE_POINT = /^(Invalid code point) \S+/;

const DUPLICATE_KEY = /^Defining a key multiple times/;

/** A bare or quoted key, for the marks under it. */
const KEY = /"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[\w-]+/y;

/**
 * Converts a parser error.
 * @param base offset of `text`, which was parsed, in the document.
 */
function toTomlError(error: unknown, text: string, base: number): unknown {
  if (error instanceof ParseError) return fromParseError(error, text, base);
  if (error instanceof PartParseError) {
    return fromParseError(error.error, text, base, error.index);
  }
  // The parser recurses for each level of nesting, and passes the digits of a number as arguments
  // of one call.
  if (error instanceof RangeError) {
    const message = 'the document is nested too deeply, or holds too long a number';
    return new TomlError(message, { start: 0, end: 0 }, { cause: error });
  }
  return error;
}

function fromParseError(
  error: ParseError,
  text: string,
  base: number,
  index = error.index,
): TomlError {
  // Missing text at the end is reported after the last text, not on the empty lines that follow.
  const start = index < text.length ? index : contentEnd(text);
  if (DUPLICATE_KEY.test(error.message)) {
    KEY.lastIndex = start;
    const length = KEY.exec(text)?.[0].length ?? 1;
    return new TomlError('duplicate key', { start: base + start, end: base + start + length });
  }
  const safe = error.message.replace(CODE_POINT, '$1');
  const message = safe.charAt(0).toLowerCase() + safe.slice(1);
  return new TomlError(message, { start: base + start, end: base + start + 1 });
}

/** A parser error in a part of a text. */
class PartParseError extends Error {
  readonly error: ParseError;
  /** The offset of the error in the text. */
  readonly index: number;

  constructor(error: ParseError, index: number) {
    super(error.message, { cause: error });
    this.error = error;
    this.index = index;
  }
}

/**
 * Parses a text, whose strings may have any length, into a syntax tree.
 * @throws {ParseError | PartParseError | RangeError} when it is invalid; RangeError when it is nested too deeply.
 */
export function parseText(text: string): AST.TOMLProgram {
  try {
    return parseTOML(text);
  } catch (error) {
    const long = error instanceof RangeError ? longStrings(text) : [];
    if (long.length === 0) throw error;
    return parseWithout(text, long);
  }
}

/** Parses a text with placeholders for its long strings, then inserts them into the tree. */
function parseWithout(text: string, long: readonly LongString[]): AST.TOMLProgram {
  const program = parseTOML(withoutLongStrings(text, long));
  const values = new Map(long.map((string) => [string.start, contentOf(text, string)]));
  const ends = new Map(long.map((string, index) => [placeholderEnd(string, index), string.end]));
  const restore = (node: AST.TOMLNode | AST.Token): void => {
    const value = values.get(node.range[0]);
    if (value !== undefined && 'value' in node && typeof node.value === 'string') {
      node.value = value;
    }
    node.range[1] = ends.get(node.range[1]) ?? node.range[1];
  };
  traverseNodes(program, { enterNode: () => undefined, leaveNode: restore });
  for (const token of program.tokens) restore(token);
  return program;
}

/**
 * Returns the content of a long string.
 * @throws {PartParseError} when it is invalid.
 */
function contentOf(text: string, string: LongString): string {
  const parts: string[] = [];
  for (const { document, offset } of piecesOf(text, string)) {
    try {
      const [pair] = parseTOML(document).body[0].body;
      const value = pair?.type === 'TOMLKeyValue' ? pair.value : undefined;
      if (value?.type !== 'TOMLValue' || value.kind !== 'string') {
        throw new RangeError('a piece of a string is a string');
      }
      parts.push(value.value);
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      throw new PartParseError(error, error.index + offset);
    }
  }
  return parts.join('');
}
