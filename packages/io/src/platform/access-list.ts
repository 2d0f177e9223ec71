import { NativeError, nativeErrno, openSelf } from './native.ts';
import { errorCode, SystemError } from './sockets/errno.ts';

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
 * Reads the list of a file. | @param path followed through symbolic links
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
