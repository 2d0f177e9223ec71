import { open, unlink, type FileHandle } from 'node:fs/promises';

/**
 * Creates a file with these contents. If it cannot be written completely, as on a full disk, it is removed again.
 *
 * @param mode the permission bits, subject to the umask
 * @param prepare called with the new file before its contents are written
 * @throws `EEXIST` for an existing path, and the system's error of the failed step
 */
export async function createFile(
  path: string,
  contents: string | Uint8Array,
  mode: number,
  prepare?: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const file = await open(path, 'wx', mode);
  try {
    try {
      await prepare?.(file);
      await file.writeFile(contents);
      // Some file systems report a full disk only here.
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    await unlink(path).catch(() => undefined);
    throw error;
  }
}
