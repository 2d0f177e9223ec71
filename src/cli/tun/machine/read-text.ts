import { join } from 'node:path';
import { openRegularFile } from '../../../platform/regular-file.ts';

/** Bytes of a configuration file that are read. */
export const MOST_BYTES = 64 << 10;

/**
 * The beginning of a file below `root`, also of one in /proc, which has no size; `undefined` when there is no
 * such file, it may not be read or is not a regular one.
 *
 * @param most bytes; what is beyond them is not read.
 */
export async function readText(
  root: string,
  path: string,
  most = MOST_BYTES,
): Promise<string | undefined> {
  try {
    await using file = await openRegularFile(join(root, path));
    const chunks: Buffer[] = [];
    let size = 0;
    while (size < most) {
      const chunk = Buffer.alloc(Math.min(64 << 10, most - size));
      const { bytesRead } = await file.read(chunk, 0, chunk.length);
      if (bytesRead === 0) break;
      chunks.push(chunk.subarray(0, bytesRead));
      size += bytesRead;
    }
    return Buffer.concat(chunks).toString('utf8');
  } catch {
    // What cannot be read is unknown, which the findings take into account.
    return undefined;
  }
}
