import { readlink } from 'node:fs/promises';
import { resolve } from 'node:path';
import { FileDigests } from '@weir/server/app/loading/file-digests';
import type { FileReader } from '@weir/config/documents';

/** Maximum size in bytes of all files of one load. */
const MAX_BYTES = 64 << 20;

/**
 * Reads files as the running Weir does: relative paths start from its working directory, or from that of this process
 * where Weir's cannot be read.
 *
 * @param pid of the running Weir; `undefined` if it is not known
 * @param files reads them, and afterwards has their absolute paths
 */
export async function weirFiles(
  pid: number | undefined,
  files = new FileDigests(MAX_BYTES),
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
