import { printable } from '@weir/base/printable';
import type { LimitsSpec } from '@weir/proxy/limits';
import { ConfigError } from '../errors.ts';
import { decodeSource } from '../sources/decode-source.ts';
import { withShownKeys } from '../sources/documents.ts';
import { FileReadError, type FileReader } from '../sources/input-files.ts';
import { readLimitsFile } from '../sources/read-tables.ts';

/**
 * Reads a limits file.
 * @throws {ConfigError} of kind `io` when it cannot be read, `invalid` for an error in it
 */
export async function readLimits(
  path: string,
  files: Pick<FileReader, 'read'>,
): Promise<LimitsSpec> {
  let bytes: Uint8Array;
  try {
    bytes = await files.read(path);
  } catch (error) {
    if (!(error instanceof FileReadError)) throw error;
    const message = printable(`cannot read the limits file ${path}: ${error.message}`);
    throw new ConfigError('io', message, { cause: error });
  }
  return withShownKeys(() => readLimitsFile(decodeSource(bytes, path)));
}
