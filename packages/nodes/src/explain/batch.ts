import { UsageError, WeirError } from '@weir/base';
import { jsonStringIn } from '@weir/base/text/json';
import { parseFlow, type ExplainedFlow } from './flow.ts';

/** A line of a file of expectations. */
export interface BatchLine {
  /** Number of the line, from 1. */
  readonly line: number;
  /** The text before the arrow, trimmed. */
  readonly text: string;
  readonly flow: ExplainedFlow;
  /** The expected outbound; `undefined` for a line without an arrow, which `--write` completes. */
  readonly expected: string | undefined;
}

/** A file of expectations is invalid; the message has its name and the line. */
export class BatchError extends WeirError {
  constructor(message: string, options?: ErrorOptions) {
    super('batch', message, options);
  }
}

/** Maximum size in bytes of a file of expectations. */
export const LARGEST_BATCH = 16 << 20;

const ARROW = '=>';
const PROPERTIES: ReadonlySet<string> = new Set(['from', 'inbound', 'network', 'sniffed']);

/**
 * Parses expectations: `HOST:PORT [from=IP] [inbound=TAG] [network=udp] [sniffed=NAME] => OUTBOUND`, one per line.
 * Empty lines and those that begin with `#` are skipped. A tag with spaces is written in double quotes.
 *
 * @param file name of the file for errors
 * @throws {BatchError} for the first invalid line
 */
export function readBatch(text: string, file: string): readonly BatchLine[] {
  const lines: BatchLine[] = [];
  for (const [index, raw] of text.split('\n').entries()) {
    const bare = raw.trim();
    if (bare === '' || bare.startsWith('#')) continue;
    const line = index + 1;
    try {
      lines.push({ line, ...readLine(bare) });
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      throw new BatchError(`${file}:${line}: ${error.message}`, { cause: error });
    }
  }
  return lines;
}

/** @throws {UsageError} */
function readLine(bare: string): Omit<BatchLine, 'line'> {
  const words = wordsOf(bare);
  const arrow = words.findIndex((word) => word === ARROW);
  const [destination = '', ...options] = arrow < 0 ? words : words.slice(0, arrow);
  const expected = arrow < 0 ? undefined : words.slice(arrow + 1).map(unquoted);
  if (expected !== undefined && (expected.length !== 1 || expected[0] === '')) {
    throw new UsageError('one outbound has to follow =>; a tag with spaces is written in quotes');
  }
  const values: Partial<Record<string, string>> = {};
  for (const option of options) {
    const [name = ''] = option.split('=', 1);
    if (!PROPERTIES.has(name) || name === option) {
      throw new UsageError(
        `${JSON.stringify(option)} is none of from=IP, inbound=TAG, network=udp, sniffed=NAME`,
      );
    }
    if (values[name] !== undefined) throw new UsageError(`${name} is given twice`);
    values[name] = unquoted(option.slice(name.length + 1));
  }
  const end = arrow < 0 ? bare.length : arrowAt(bare);
  return {
    text: bare.slice(0, end).trim(),
    flow: parseFlow(destination, values),
    expected: expected?.[0],
  };
}

/** The characters outside double quotes, in which a backslash escapes the next character. */
function* outsideQuotes(text: string): Generator<readonly [index: number, char: string]> {
  let isQuoted = false;
  for (let index = 0; index < text.length; index++) {
    const char = text[index] ?? '';
    if (isQuoted && char === '\\') index++;
    else if (char === '"') isQuoted = !isQuoted;
    else if (!isQuoted) yield [index, char];
  }
  if (isQuoted) throw new UsageError('a quote is not closed');
}

/** Splits a text at spaces outside quotes. */
function wordsOf(text: string): readonly string[] {
  const words: string[] = [];
  let start = 0;
  for (const [index, char] of outsideQuotes(text)) {
    if (char !== ' ' && char !== '\t') continue;
    if (index > start) words.push(text.slice(start, index));
    start = index + 1;
  }
  if (start < text.length) words.push(text.slice(start));
  return words;
}

/** Index of the arrow in a line, where it is a word of its own; the length of the line without one. */
function arrowAt(text: string): number {
  let before = ' ';
  for (const [index, char] of outsideQuotes(text)) {
    const after = text[index + ARROW.length] ?? ' ';
    const isWord = /[ \t]/.test(before) && /[ \t]/.test(after);
    if (char === '=' && text[index + 1] === '>' && isWord) return index;
    before = char;
  }
  return text.length;
}

/** The value of a word, which may be a JSON string. @throws {UsageError} */
function unquoted(word: string): string {
  if (!word.startsWith('"')) return word;
  const text = jsonStringIn(word);
  if (text === undefined) throw new UsageError(`${word} is not a string in double quotes`);
  return text;
}

/** A tag as it is written in a line. */
export const writtenTag = (tag: string): string =>
  /^[^\s"#]+$/.test(tag) && tag !== ARROW ? tag : JSON.stringify(tag);

/** The text of the file with these outbounds, keyed by line number; other lines are unchanged. */
export function withOutbounds(
  text: string,
  lines: readonly BatchLine[],
  outbounds: ReadonlyMap<number, string>,
): string {
  const rows = text.split('\n');
  for (const { line, text: flow, expected } of lines) {
    const outbound = outbounds.get(line);
    if (outbound === undefined || outbound === expected) continue;
    const end = rows[line - 1]?.endsWith('\r') === true ? '\r' : '';
    rows[line - 1] = `${flow} ${ARROW} ${writtenTag(outbound)}${end}`;
  }
  return rows.join('\n');
}
