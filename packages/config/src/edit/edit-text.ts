import { ConfigError } from '../errors.ts';
import { type SourceText } from '../sources/source-text.ts';
import { decodeSource, asComments, npmHeader, documentError } from '../sources/decode-source.ts';
import { TomlError } from '../toml/tree.ts';

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Edits the text of a file; a byte order mark and the lines of npm are preserved.
 *
 * @param file named in errors
 * @throws {ConfigError} of kind `invalid` when the file is not UTF-8, or the result cannot be encoded as such
 */
export function editText(
  bytes: Uint8Array,
  file: string | undefined,
  edit: (source: SourceText) => string,
): Uint8Array {
  const text = edit(decodeSource(bytes, file));
  if (!text.isWellFormed()) {
    throw new ConfigError('invalid', 'a name holds half of a surrogate pair');
  }
  return encodedLike(bytes, text);
}

/** Encodes an edited text, with a byte order mark and the lines of npm if `before` has them. */
export function encodedLike(before: Uint8Array, text: string): Uint8Array {
  const header = npmHeader(new TextDecoder().decode(before));
  const isKept = text.startsWith(asComments(header));
  const edited = Buffer.from(isKept ? header + text.slice(header.length) : text);
  const isMarked = BYTE_ORDER_MARK.equals(before.subarray(0, BYTE_ORDER_MARK.length));
  return isMarked ? Buffer.concat([BYTE_ORDER_MARK, edited]) : edited;
}

/** Runs `work` on a document. @throws {ConfigError} with the place of a TomlError that `work` throws */
export function inDocument<T>(source: SourceText, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw documentError(source, error.message, error.span, { cause: error });
  }
}
