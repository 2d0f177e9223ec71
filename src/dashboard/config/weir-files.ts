import { readlink } from 'node:fs/promises';
import { resolve } from 'node:path';
import { FilesRead } from '../../app/loading/files-read.ts';
import type { FileReader } from '../../config/sources/input-files.ts';

/** Bytes of all files of one load. */
const MAX_BYTES = 64 << 20;

/**
 * Reads files as the running Weir does, whose relative paths start from the folder that it was started in. Where that
 * cannot be read, it is taken to be the same as here.
 *
 * @param pid of the running Weir; `undefined` if it is not known
 * @param files reads them, and knows their whole paths afterwards
 */
export async function weirFiles(
  pid: number | undefined,
  files = new FilesRead(MAX_BYTES),
): Promise<FileReader> {
  const folder =
    pid === undefined ? undefined : await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  const at = (path: string): string => (folder === undefined ? path : resolve(folder, path));
  return {
    read: (path) => files.read(at(path)),
    sha256: (path) => files.sha256(at(path)),
    isPublic: (path) => files.isPublic(at(path)),
  };
}
