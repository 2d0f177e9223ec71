import { isUtf8 } from 'node:buffer';
import { documentError } from './document-error.ts';
import { SourceText } from './source-text.ts';

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
