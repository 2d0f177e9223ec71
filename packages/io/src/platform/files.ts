import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  openSync,
  type Stats,
  statSync,
} from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { codeOf, messageOf, WeirError } from '@weir/base';
import { nativeErrno, NativeError, openSelf } from './native.ts';
import { errorCode, SystemError } from './sockets/errno.ts';

/** The error of a path that is not a regular file; `message` names its type. */
class NotRegularFileError extends WeirError {
  constructor(what: string) {
    super('not_a_regular_file', `is a ${what}, not a regular file`);
  }
}

/** Identifies a file and its last write, without reading it: another text after every write and replacement. */
export const fileStamp = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  [dev, ino, size, mtimeNs, ctimeNs].join(' ');

/**
 * Opens a regular file for reading. Anything else may block a thread of the pool, and with it the
 * end of the process, indefinitely: opening a named pipe, reading a terminal. A directory can be
 * opened: reading it fails with its own error.
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

/**
 * The POSIX access control list of a file, which gives access to further users and groups (acl(5)). Linux keeps it in
 * an extended attribute (xattr(7)); the bytes are copied and not interpreted.
 */
export type AccessList = Uint8Array;

const NAME = 'system.posix_acl_access';

/** The largest extended attribute of Linux, in bytes. */
const MAX_LENGTH = 65_536;

interface Calls {
  readonly getxattr: (path: string, name: string, value: Uint8Array, size: number) => number;
  readonly fsetxattr: (
    fd: number,
    name: string,
    value: Uint8Array,
    size: number,
    flags: number,
  ) => number;
  readonly fremovexattr: (fd: number, name: string) => number;
}

let bound: Calls | undefined;

/**
 * Binds the native functions for access lists.
 * @returns `undefined` if there are no such lists, or no native functions.
 */
function calls(): Calls | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const library = openSelf();
    return (bound ??= {
      getxattr: library.func('int64_t getxattr(const char *, const char *, uint8_t *, size_t)'),
      fsetxattr: library.func('int fsetxattr(int, const char *, const uint8_t *, size_t, int)'),
      fremovexattr: library.func('int fremovexattr(int, const char *)'),
    });
  } catch (error) {
    if (error instanceof NativeError) return undefined;
    throw error;
  }
}

/** Error codes for a file without a list, and for a file system without support for lists. */
const HAS_NONE: ReadonlySet<string> = new Set(['ENODATA', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/**
 * Reads the list of a file.
 *
 * @param path followed through symbolic links
 * @returns `undefined` if the permission bits alone decide
 * @throws {SystemError}
 */
export function readAccessList(path: string): AccessList | undefined {
  const value = new Uint8Array(MAX_LENGTH);
  const length = calls()?.getxattr(path, NAME, value, MAX_LENGTH);
  if (length === undefined) return undefined;
  if (length >= 0) return value.slice(0, length);
  return unlessNone('getxattr');
}

/**
 * Sets the list of an open file, and with it the permission bits that belong to the list; `undefined` removes one that
 * the file has inherited from its folder.
 * @throws {SystemError}
 */
export function writeAccessList(fd: number, list: AccessList | undefined): void {
  if (list) {
    const result = calls()?.fsetxattr(fd, NAME, list, list.length, 0);
    if (result === -1) throw new SystemError('fsetxattr', nativeErrno());
  } else if (calls()?.fremovexattr(fd, NAME) === -1) unlessNone('fremovexattr');
}

/**
 * Handles a failed call for a list.
 * @throws the error of the call before, unless it says that there is no list
 */
function unlessNone(call: string): undefined {
  const errno = nativeErrno();
  if (!HAS_NONE.has(errorCode(errno))) throw new SystemError(call, errno);
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EISDIR: 'is a directory',
  ENOSPC: 'no space left on device',
  EROFS: 'read-only file system',
  ENOTDIR: 'not a directory',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'too many symbolic links',
  ERR_INVALID_ARG_VALUE: 'a path has no null bytes',
};

/** Why a file could not be read or written, without its name: `no such file or directory`. */
export const fileReason = (error: unknown): string =>
  REASONS[codeOf(error) ?? ''] ?? messageOf(error);
