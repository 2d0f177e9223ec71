import { isUtf8 } from 'node:buffer';
import { printable, replaceUnprintable } from '@weir/base/printable';
import type { Span } from '@weir/proxy/schema';
import { ConfigError, type ConfigErrorOptions } from '../errors.ts';
import { shownLine } from '../shown-line.ts';
import { characters, SourceText } from './source-text.ts';

const BYTE_ORDER_MARK = '\u{FEFF}';

/**
 * Decodes the text of a configuration file, without the byte order mark that some editors write, and with the lines
 * that `npm start` writes before a redirected output as comments.
 * @throws {ConfigError} at the first byte of invalid UTF-8.
 */
export function decodeSource(bytes: Uint8Array, file: string | undefined): SourceText {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  const bom = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  const written = text.slice(bom);
  const header = npmHeader(written);
  const source = new SourceText(
    asComments(header) + written.slice(header.length),
    file,
    header.length,
  );
  if (isUtf8(bytes)) return source;
  const start = firstReplaced(text, bytes) - bom;
  throw documentError(source, 'invalid UTF-8', { start, end: start + 1 });
}

/** Returns the offset of the first character of `text` that replaces invalid UTF-8. */
function firstReplaced(text: string, bytes: Uint8Array): number {
  const encoded = Buffer.from(text);
  let wrong = 0;
  while (encoded[wrong] === bytes[wrong]) wrong++;
  let offset = 0;
  let length = 0;
  for (const character of text) {
    length += Buffer.byteLength(character);
    if (length > wrong) break;
    offset += character.length;
  }
  return offset;
}

/**
 * The lines that `npm start` prints to standard output before the program it starts, and which are therefore at the
 * beginning of a file that its output is redirected to. `npm -s start` prints none.
 */
const HEADER = /^\n> weir-proxy@[^\n]*\n> [^\n]*\n\n/;

/** Returns the lines of npm at the start of a text; empty if there are none. */
export const npmHeader = (text: string): string => HEADER.exec(text)?.[0] ?? '';

/** Returns the lines of npm as TOML comments of the same length, so that all places are unchanged. */
export const asComments = (header: string): string => header.replaceAll(/^>/gm, '#');

/**
 * Creates an error of the document itself, in the format of Rust's toml crate: the line with masked values,
 * and marks under the place. The message may quote keys, and is one line.
 */
export function documentError(
  source: SourceText,
  message: string,
  span: Span,
  options?: ConfigErrorOptions,
): ConfigError {
  const { text } = source;
  const location = source.locate(span.start);
  const { line, column } = location;
  const lineStart = text.lastIndexOf('\n', span.start - 1) + 1;
  const lineEnd = endOfLine(text, span.start);
  const shown = shownLine(text, lineStart, lineEnd);
  const marked = text.slice(span.start, Math.min(span.end, lineEnd));
  const gutter = ' '.repeat(String(line).length);
  // Tabs are kept, so that the marks are aligned with the line above.
  const indent = text.slice(lineStart, span.start).replaceAll(/[^\t]/gu, ' ');
  const marks = '^'.repeat(Math.max(1, characters(marked)));
  const report = [
    `TOML parse error at line ${line}, column ${column}`,
    `${gutter} |`,
    `${line} | ${visible(shown)}`,
    `${gutter} | ${indent}${marks}`,
    printable(message),
  ].join('\n');
  return new ConfigError('invalid', report, { location, ...options });
}

function endOfLine(text: string, offset: number): number {
  const newline = text.indexOf('\n', offset);
  const end = newline < 0 ? text.length : newline;
  return end > offset && text[end - 1] === '\r' ? end - 1 : end;
}

/** Replaces each unprintable character by one character, so that the marks below stay aligned. */
export const visible = (text: string): string =>
  replaceUnprintable(text, (codePoint) => (codePoint === TAB ? '\t' : '\u{FFFD}'));

const TAB = 9;
