import { join } from 'node:path';
import { openRegularFile } from '../../../platform/regular-file.ts';

/** Maximum bytes of a configuration file that are read. */
export const MOST_BYTES = 64 << 10;

/**
 * Reads the beginning of a file below `root`, including one in /proc, which has no size; `undefined` when the file does
 * not exist, may not be read, or is not regular.
 *
 * @param most maximum bytes to read
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
    // Unreadable files are unknown facts, which the findings take into account.
    return undefined;
  }
}
