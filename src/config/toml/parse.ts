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
import { appendTable, newTable, openTable, setValue } from './tree.ts';
import type { Name, OpenNode, OpenTable } from './tree.ts';

/** Signed 64 bits are TOML's; the upper half of the unsigned ones is for keys that are a `u64`. */
const LEAST_INTEGER = -(2n ** 63n);
const GREATEST_INTEGER = 2n ** 64n - 1n;

/**
 * Reads a TOML document without its byte order mark.
 * @throws {TomlError} when it is invalid.
 */
export function parseToml(text: string): TableNode {
  const [document] = parseSyntax(text).body;
  try {
    const root = newTable({ start: 0, end: 0 }, 'header');
    for (const part of document.body) {
      if (part.type === 'TOMLTable') readTable(root, part, text);
      else readKeyValue(root, part);
    }
    return root;
  } catch (error) {
    throw toTomlError(error, text);
  }
}

/**
 * The syntax tree of a TOML document without its byte order mark.
 * @throws {TomlError} when it is invalid.
 */
export function parseSyntax(text: string): AST.TOMLProgram {
  refuseBareCarriageReturn(text);
  try {
    return parseTOML(text);
  } catch (error) {
    const long = error instanceof RangeError ? longStrings(text) : [];
    if (long.length === 0) throw toTomlError(error, text);
    return parseWithout(text, long);
  }
}

/** Reads a document without its long strings, and puts them back into the syntax tree. */
function parseWithout(text: string, long: readonly LongString[]): AST.TOMLProgram {
  let program: AST.TOMLProgram;
  try {
    program = parseTOML(withoutLongStrings(text, long));
  } catch (error) {
    throw toTomlError(error, text);
  }
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

/** @throws {TomlError} for what is invalid in it. */
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
      throw fromParseError(error, text, error.index + offset);
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

function readTable(root: OpenTable, { key, kind, range, body }: AST.TOMLTable, text: string): void {
  const closing = kind === 'array' ? ']]' : ']';
  const header = { start: range[0], end: text.indexOf(closing, key.range[1]) + closing.length };
  const open = kind === 'array' ? appendTable : openTable;
  const table = open(root, namesOf(key), header);
  for (const pair of body) readKeyValue(table, pair);
}

const readKeyValue = (table: OpenTable, { key, value }: AST.TOMLKeyValue): void =>
  setValue(table, namesOf(key), toNode(value));

function toNode(content: AST.TOMLContentNode): OpenNode {
  const span = spanOf(content);
  switch (content.type) {
    case 'TOMLArray':
      return { kind: 'array', span, items: content.elements.map(toNode) };
    case 'TOMLInlineTable': {
      const table = newTable(span, 'key');
      for (const pair of content.body) readKeyValue(table, pair);
      return table;
    }
    case 'TOMLValue':
      return toScalar(content, span);
    default:
      return content satisfies never;
  }
}

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

const spanOf = ({ range: [start, end] }: AST.HasLocs): Span => ({ start, end });

const namesOf = (key: AST.TOMLKey): Name[] =>
  key.keys.map((part) => ({
    text: part.type === 'TOMLBare' ? part.name : part.value,
    span: spanOf(part),
  }));

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

function toTomlError(error: unknown, text: string): unknown {
  if (error instanceof ParseError) return fromParseError(error, text);
  // The parser calls itself for every level of nesting, and spreads the digits of a number into one call.
  if (error instanceof RangeError) {
    const message = 'the document is nested too deeply, or holds too long a number';
    return new TomlError(message, { start: 0, end: 0 }, { cause: error });
  }
  return error;
}

function fromParseError(error: ParseError, text: string, index = error.index): TomlError {
  // Text missing at the end is reported after the last text, not on the empty lines that follow.
  const start = index < text.length ? index : contentEnd(text);
  if (DUPLICATE_KEY.test(error.message)) {
    KEY.lastIndex = start;
    const length = KEY.exec(text)?.[0].length ?? 1;
    return new TomlError('duplicate key', { start, end: start + length });
  }
  const safe = error.message.replace(CODE_POINT, '$1');
  const message = safe.charAt(0).toLowerCase() + safe.slice(1);
  return new TomlError(message, { start, end: start + 1 });
}
