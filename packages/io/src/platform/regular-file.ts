import { closeSync, constants, fstatSync, openSync, statSync, type Stats } from 'node:fs';
import { open, stat, type FileHandle } from 'node:fs/promises';
import { WeirError } from '@weir/base';

/** The error of a path that is not a regular file; `message` names its type. */
class NotRegularFileError extends WeirError {
  constructor(what: string) {
    super('not_a_regular_file', `is a ${what}, not a regular file`);
  }
}

/**
 * Opens a regular file for reading. Anything else may block a thread of the pool, and with it the
 * end of the process, indefinitely: opening a named pipe, reading a terminal. A directory can be
 * opened: reading it fails with its own error.
 *
 * @throws {NotRegularFileError}
 * @throws the system's error.
 */
export async function openRegularFile(path: string): Promise<FileHandle> {
  // Even a non-blocking open has effects, such as on the writer of a pipe.
  refuseOthers(await stat(path));
  return regular(await open(path, READ_WITHOUT_WAITING));
}

/**
 * Creates a regular file, or opens it for writing. A pipe without a reader fails instead of blocking a thread.
 *
 * @param mode permissions of a new file
 * @throws {NotRegularFileError}
 * @throws the system's error.
 */
export async function openRegularFileToWrite(path: string, mode: number): Promise<FileHandle> {
  return regular(await open(path, WRITE_WITHOUT_WAITING, mode));
}

/** Returns the file if it is a regular one; closes it otherwise. */
async function regular(file: FileHandle): Promise<FileHandle> {
  try {
    refuseOthers(await file.stat());
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Opens a regular file as {@link openRegularFile} does, synchronously: for the start, when there is nothing to delay.
 * The thread pool, which asynchronous calls start with all its threads, may then never be needed.
 *
 * @returns a descriptor for the caller to close
 */
export function openRegularFileSync(path: string): number {
  refuseOthers(statSync(path));
  const fd = openSync(path, READ_WITHOUT_WAITING);
  try {
    refuseOthers(fstatSync(fd));
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Flags of an open that neither waits for the writer of a pipe nor makes a terminal the controlling one. */
export const READ_WITHOUT_WAITING = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
const WRITE_WITHOUT_WAITING =
  constants.O_WRONLY | constants.O_CREAT | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Returns the type of a special file; `undefined` for a regular file or a directory. */
export function kindOfOther(stats: Stats): string | undefined {
  if (stats.isFile() || stats.isDirectory()) return undefined;
  if (stats.isFIFO()) return 'pipe';
  if (stats.isSocket()) return 'socket';
  return stats.isBlockDevice() ? 'block device' : 'character device';
}

function refuseOthers(stats: Stats): void {
  const kind = kindOfOther(stats);
  if (kind !== undefined) throw new NotRegularFileError(kind);
}
