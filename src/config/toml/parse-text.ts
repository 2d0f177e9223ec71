import { ParseError, parseTOML, traverseNodes, type AST } from 'toml-eslint-parser';
import {
  longStrings,
  piecesOf,
  placeholderEnd,
  withoutLongStrings,
  type LongString,
} from './long-strings.ts';

/** A parser error in a part of a text. */
export class PartParseError extends Error {
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
