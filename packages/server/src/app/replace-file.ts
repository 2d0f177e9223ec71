import { randomInt } from 'node:crypto';
import { type FileHandle, open, realpath, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf, WeirError } from '@weir/base';
import { type AccessList, readAccessList, writeAccessList } from '@weir/io/files';

/**
 * Creates a file with these contents. If it cannot be written completely, as on a full disk, it is removed again.
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

/** The system calls of replacing a file, so that a test can make each step fail. */
export interface ReplaceFileSystem {
  /** The path with every symbolic link resolved. */
  realpath(path: string): Promise<string>;
  attributesOf(path: string): Promise<FileAttributes>;
  /** Creates a file with mode 0600 and opens it for writing. @throws `EEXIST` when the name is taken */
  create(path: string): Promise<NewFile>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  /** Syncs a directory, so that its entries survive a loss of power. */
  syncFolder(path: string): Promise<void>;
}

/** Ownership and permissions of a file. */
interface FileAttributes {
  /** The permission bits. */
  readonly mode: number;
  /** The ids of the owner and of the group. */
  readonly uid: number;
  readonly gid: number;
  /** Further users and groups with access; `undefined` if there are none. */
  readonly accessList: AccessList | undefined;
}

export interface NewFile {
  write(bytes: Uint8Array): Promise<void>;
  /** Sets the owner and the group of the file, as far as the user may: the rest is left to root. */
  chown(uid: number, gid: number): Promise<void>;
  setAccessList(list: AccessList | undefined): Promise<void>;
  chmod(mode: number): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Maximum number of temporary names that are tried. */
const CANDIDATES = 64;

const OWNER_ONLY = 0o600;
const PERMISSION_BITS = 0o7777;

/** The name of the temporary file: hidden, and unlike those of editors. */
const candidateName = (name: string, number: number): string => `.${name}.${number}.tmp`;

/** Whether `entry` is a temporary file of a write to `name`. */
export const isTemporaryName = (entry: string, name: string): boolean =>
  entry.startsWith(`.${name}.`) && /^\d+\.tmp$/.test(entry.slice(name.length + 2));

/**
 * Replaces the contents of a file atomically: readers see the old or the new contents, also after a crash, and never a
 * part. The contents are written to a temporary file in the same directory, which is synced and then renamed.
 *
 * A symbolic link is kept and its target replaced. The new file has the permission bits and the access control list of
 * the old one, and its owner and group as far as the process may set them: a file that root edits stays readable for
 * the user of the service. Other hard links to the old file keep the old contents.
 *
 * @param firstNumber number in the first temporary name that is tried, at most 2^31
 * @throws {WeirError} `no_temporary_name` when too many names are taken
 * @throws the system's error of the failed step; the file is unchanged and no temporary file is left. Only if the last
 * step fails, the sync of the directory, the file has been replaced
 */
export async function replaceFile(
  path: string,
  bytes: Uint8Array,
  fs: ReplaceFileSystem = systemFiles,
  // Random, so that temporary files of killed processes do not use up the candidates.
  firstNumber: number = randomInt(2 ** 31),
): Promise<void> {
  const target = await fs.realpath(path);
  const attributes = await fs.attributesOf(target);
  const { temporary, file } = await createBeside(target, fs, firstNumber);
  try {
    await fill(file, bytes, attributes);
    await fs.rename(temporary, target);
  } catch (error) {
    await quietly(fs.unlink(temporary));
    throw error;
  }
  await fs.syncFolder(dirname(target));
}

async function createBeside(
  target: string,
  fs: ReplaceFileSystem,
  firstNumber: number,
): Promise<{ readonly temporary: string; readonly file: NewFile }> {
  const folder = dirname(target);
  const name = basename(target);
  for (let number = firstNumber; number < firstNumber + CANDIDATES; number += 1) {
    const temporary = join(folder, candidateName(name, number));
    try {
      return { temporary, file: await fs.create(temporary) };
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }
  throw new WeirError('no_temporary_name', `no free temporary name for ${name} in ${folder}`);
}

async function fill(file: NewFile, bytes: Uint8Array, attributes: FileAttributes): Promise<void> {
  try {
    await file.write(bytes);
    await file.chown(attributes.uid, attributes.gid);
    // Before the mode: with a list, the mode's group bits are the list's mask.
    await file.setAccessList(attributes.accessList);
    // Last, since changing the owner clears some of the bits.
    await file.chmod(attributes.mode);
    await file.sync();
  } catch (error) {
    await quietly(file.close());
    throw error;
  }
  await file.close();
}

/** Ignores errors of cleanup after a failure, whose error matters more. */
const quietly = (work: Promise<void>): Promise<void> => work.catch(() => undefined);

/** The file system of the machine. */
export const systemFiles: ReplaceFileSystem = {
  realpath: (path) => realpath(path),
  attributesOf: async (path) => {
    const { mode, uid, gid } = await stat(path);
    return { mode: mode & PERMISSION_BITS, uid, gid, accessList: readAccessList(path) };
  },
  create: async (path) => {
    const handle = await open(path, 'wx', OWNER_ONLY);
    return {
      write: (bytes) => handle.writeFile(bytes),
      chown: (uid, gid) => chown(handle, uid, gid),
      setAccessList: async (list) => writeAccessList(handle.fd, list),
      chmod: (mode) => handle.chmod(mode),
      sync: () => handle.sync(),
      close: () => handle.close(),
    };
  },
  rename: (from, to) => rename(from, to),
  unlink: (path) => unlink(path),
  syncFolder: async (path) => {
    await using folder = await open(path, 'r');
    await folder.sync();
  },
};

async function chown(handle: FileHandle, uid: number, gid: number): Promise<void> {
  const own = await handle.stat();
  if (own.uid === uid && own.gid === gid) return;
  try {
    await handle.chown(process.geteuid?.() === 0 ? uid : own.uid, gid);
  } catch (error) {
    // Only root may set a group that the user is not in.
    if (codeOf(error) !== 'EPERM') throw error;
  }
}
