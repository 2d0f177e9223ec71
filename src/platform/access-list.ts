import { NativeError, nativeErrno, openSelf } from './native.ts';
import { errorCode, SystemError } from './sockets/errno.ts';

/**
 * The POSIX access control list of a file, which gives access to further users and groups (acl(5)). Linux keeps it in
 * an extended attribute (xattr(7)); the bytes are copied and not interpreted.
 */
export type AccessList = Uint8Array;

const NAME = 'system.posix_acl_access';

/** The largest extended attribute of Linux. */
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

/** @returns `undefined` where there are no such lists, or no native functions. */
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

/** Errors for a file without a list, and for a file system that has none. */
const HAS_NONE: ReadonlySet<string> = new Set(['ENODATA', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/**
 * @param path is followed through symbolic links
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
 * Gives an open file a list, and with it the permission bits that belong to that; `undefined` takes away one that the
 * file has got from its folder.
 * @throws {SystemError}
 */
export function writeAccessList(fd: number, list: AccessList | undefined): void {
  if (list) {
    const result = calls()?.fsetxattr(fd, NAME, list, list.length, 0);
    if (result === -1) throw new SystemError('fsetxattr', nativeErrno());
  } else if (calls()?.fremovexattr(fd, NAME) === -1) unlessNone('fremovexattr');
}

/** @throws the error of the call before, unless it says that there is no list */
function unlessNone(call: string): undefined {
  const errno = nativeErrno();
  if (!HAS_NONE.has(errorCode(errno))) throw new SystemError(call, errno);
}
