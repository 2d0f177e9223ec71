import { ParseError, parseTOML, traverseNodes, type AST } from 'toml-eslint-parser';
import type { ScalarNode, Span, TableNode } from '../../schema/node.ts';
import { TomlError } from './error.ts';
import {
  longStrings,
  piecesOf,
  placeholderEnd,
  withoutLongStrings,
  type LongString,
} from './long-strings.ts';
import { slicesOf } from './slices.ts';
import { appendTable, newTable, openTable, setValue } from './tree.ts';
import type { Name, OpenNode, OpenTable } from './tree.ts';

/** Signed 64 bits are TOML's; the upper half of the unsigned ones is for keys that are a `u64`. */
const LEAST_INTEGER = -(2n ** 63n);
const GREATEST_INTEGER = 2n ** 64n - 1n;

/**
 * Reads a TOML document without its byte order mark.
 * @param sliceLength see `slicesOf`.
 * @throws {TomlError} when it is invalid.
 */
export function parseToml(text: string, sliceLength?: number): TableNode {
  const root = newTable({ start: 0, end: 0 }, 'header');
  for (const { program, base } of parseSyntax(text, sliceLength)) {
    const [document] = program.body;
    try {
      const reader = new TreeReader(text, base);
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

/** The syntax tree of a slice of a document; its places count from `base`. */
export interface SyntaxSlice {
  readonly program: AST.TOMLProgram;
  readonly base: number;
}

/**
 * The syntax trees of a TOML document without its byte order mark, one slice after the other: of each, the
 * memory can be used again before the next. That no table is defined twice is checked within each alone.
 * @param sliceLength see `slicesOf`.
 * @throws {TomlError} when it is invalid.
 */
export function* parseSyntax(text: string, sliceLength?: number): Generator<SyntaxSlice> {
  refuseBareCarriageReturn(text);
  let failed: { readonly start: number; readonly error: TomlError } | undefined;
  for (const { start, end } of slicesOf(text, sliceLength)) {
    const from = failed?.start ?? start;
    const found = parseSlice(text.slice(from, end), from);
    if (found instanceof TomlError) {
      // What is missing at its end is said better with what follows in its place.
      if (failed || end === text.length) throw found;
      failed = { start, error: found };
    } else {
      if (failed) throw failed.error;
      yield { program: found, base: start };
    }
  }
}

/** @param base where `text` begins in the document. @returns why it is invalid, with its place there. */
function parseSlice(text: string, base: number): AST.TOMLProgram | TomlError {
  try {
    return parseTOML(text);
  } catch (error) {
    const long = error instanceof RangeError ? longStrings(text) : [];
    if (long.length === 0) return toTomlError(error, text, base);
    return parseWithout(text, long, base);
  }
}

/** Reads a text without its long strings, and puts them back into the syntax tree. */
function parseWithout(
  text: string,
  long: readonly LongString[],
  base: number,
): AST.TOMLProgram | TomlError {
  let program: AST.TOMLProgram;
  try {
    program = parseTOML(withoutLongStrings(text, long));
  } catch (error) {
    return toTomlError(error, text, base);
  }
  const values = new Map<number, string>();
  for (const string of long) {
    const content = contentOf(text, string, base);
    if (content instanceof TomlError) return content;
    values.set(string.start, content);
  }
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

/** @returns the text of a string, or what is invalid in it. */
function contentOf(text: string, string: LongString, base: number): string | TomlError {
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
      return fromParseError(error, text, base, error.index + offset);
    }
  }
  return parts.join('');
}

/** The parser takes a carriage return alone for the end of a line; TOML allows it nowhere. */
function refuseBareCarriageReturn(text: string): void {
  const start = text.search(/\r(?!\n)/);
  if (start < 0) return;
  throw new TomlError('carriage return without a line feed', { start, end: start + 1 });
}

/** Puts what a slice of a document holds into the tree, with its places in the document. */
class TreeReader {
  readonly #text: string;
  readonly #base: number;

  constructor(text: string, base: number) {
    this.#text = text;
    this.#base = base;
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
        const items = content.elements.map((element) => this.#toNode(element));
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
      // Infinity is written `inf`; digits that amount to it are more than the type holds.
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

/** The end of a document without the white space at its end. */
function contentEnd(text: string): number {
  let end = text.length;
  while (end > 0 && ' \t\r\n'.includes(text.charAt(end - 1))) end--;
  return end;
}

/** The digits of an escape are part of a value, which may be a secret. */
const CODE_POINT = /^(Invalid code point) \S+/;

const DUPLICATE_KEY = /^Defining a key multiple times/;

/** A bare or quoted key, for the marks below it. */
const KEY = /"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[\w-]+/y;

/**
 * @param base where `text`, which was parsed, begins in the document.
 * @throws every other error than one of the parser.
 */
function toTomlError(error: unknown, text: string, base: number): TomlError {
  if (error instanceof ParseError) return fromParseError(error, text, base);
  // The parser calls itself for every level of nesting, and spreads the digits of a number into one call.
  if (error instanceof RangeError) {
    const message = 'the document is nested too deeply, or holds too long a number';
    return new TomlError(message, { start: 0, end: 0 }, { cause: error });
  }
  throw error;
}

function fromParseError(
  error: ParseError,
  text: string,
  base: number,
  index = error.index,
): TomlError {
  // Text missing at the end is reported after the last text, not on the empty lines that follow.
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
