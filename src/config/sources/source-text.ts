import { replaceUnprintable } from '../../printable.ts';
import type { Span } from '../../schema/node.ts';
import {
  ConfigError,
  type ConfigErrorKind,
  type ConfigErrorOptions,
  type ConfigLocation,
} from '../errors.ts';
import { shownLine } from '../shown-line.ts';
import { isUtf8 } from 'node:buffer';

/** The text of a configuration file, for errors with a line and column. */
export class SourceText {
  readonly text: string;
  readonly file: string | undefined;
  /** Where each line begins; made with the first place that is asked for. */
  #lineStarts: readonly number[] | undefined;

  constructor(text: string, file: string | undefined) {
    this.text = text;
    this.file = file;
  }

  locate(offset: number): ConfigLocation {
    const starts = (this.#lineStarts ??= lineStarts(this.text));
    let line = 0;
    // The last line that begins at `offset` or before it.
    for (let end = starts.length; line + 1 < end;) {
      const middle = (line + end) >>> 1;
      if ((starts[middle] ?? 0) <= offset) line = middle;
      else end = middle;
    }
    const before = this.text.slice(starts[line], offset);
    return { file: this.file, line: line + 1, column: characters(before) + 1 };
  }

  /** An error with a place apart from its message, or about the document as a whole. */
  error(
    kind: ConfigErrorKind,
    message: string,
    span: Span | undefined,
    options?: ConfigErrorOptions,
  ): ConfigError {
    const location = span && this.locate(span.start);
    return new ConfigError(kind, message, { location, ...options });
  }

  /** An error of the document itself, in the format of Rust's toml crate: the line, its values replaced by stars, and marks. */
  tomlError(message: string, span: Span, options?: ConfigErrorOptions): ConfigError {
    const location = this.locate(span.start);
    const { line, column } = location;
    const lineStart = this.text.lastIndexOf('\n', span.start - 1) + 1;
    const lineEnd = this.#lineEnd(span.start);
    const shown = shownLine(this.text, lineStart, lineEnd);
    const marked = this.text.slice(span.start, Math.min(span.end, lineEnd));
    const gutter = ' '.repeat(String(line).length);
    // Tabs are kept, so that the marks are aligned with the line above.
    const indent = this.text.slice(lineStart, span.start).replaceAll(/[^\t]/gu, ' ');
    const marks = '^'.repeat(Math.max(1, characters(marked)));
    const text = [
      `TOML parse error at line ${line}, column ${column}`,
      `${gutter} |`,
      `${line} | ${visible(shown)}`,
      `${gutter} | ${indent}${marks}`,
      message,
    ].join('\n');
    return new ConfigError('invalid', text, { location, ...options });
  }

  #lineEnd(offset: number): number {
    const newline = this.text.indexOf('\n', offset);
    const end = newline < 0 ? this.text.length : newline;
    return end > offset && this.text[end - 1] === '\r' ? end - 1 : end;
  }
}

function lineStarts(text: string): readonly number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

const characters = (text: string): number => Array.from(text).length;

/** One character for each unprintable one, so that the mark below stays where it belongs. */
const visible = (text: string): string =>
  replaceUnprintable(text, (codePoint) => (codePoint === TAB ? '\t' : '\u{FFFD}'));

const TAB = 9;

const BYTE_ORDER_MARK = '\u{FEFF}';

/**
 * The text of a configuration file, without the byte order mark that some editors write.
 * @throws {ConfigError} at the first byte that is not UTF-8.
 */
export function decodeSource(bytes: Uint8Array, file: string | undefined): SourceText {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  const bom = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  const source = new SourceText(text.slice(bom), file);
  if (isUtf8(bytes)) return source;
  const start = firstReplaced(text, bytes) - bom;
  throw source.tomlError('invalid UTF-8', { start, end: start + 1 });
}

/** The offset of the first character of `text` that replaces invalid UTF-8. */
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
