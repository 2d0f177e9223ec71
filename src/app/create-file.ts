import { open, unlink, type FileHandle } from 'node:fs/promises';

/**
 * Creates a file with these contents. One that cannot be written as a whole, as on a full disk, is removed again.
 *
 * @param mode the permission bits, of which the umask takes some
 * @param prepare what else is to be done to the new file, before its contents
 * @throws `EEXIST` for a path that is taken, and the system's error of the failed step
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
      // Some file systems find only then that there is no room.
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    await unlink(path).catch(() => undefined);
    throw error;
  }
}
