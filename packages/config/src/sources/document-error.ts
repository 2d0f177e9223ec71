import { printable, replaceUnprintable } from '@weir/base/printable';
import type { Span } from '@weir/proxy/schema';
import { ConfigError, type ConfigErrorOptions } from '../errors.ts';
import { shownLine } from '../shown-line.ts';
import { characters, type SourceText } from './source-text.ts';

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
