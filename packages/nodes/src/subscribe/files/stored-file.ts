import { open, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FileDigests } from '@weir/server/app/loading/file-digests';
import { editConfigFile, type EditedFile } from '@weir/server/edits';
import { replaceFile, systemFiles, type ReplaceFileSystem } from '@weir/server/files';
import { FileReadError } from '@weir/config/documents';
import { codeOf, messageOf } from '@weir/base';
import { SubscribeError } from '../source.ts';

/** Maximum bytes of a file; one with the maximum number of nodes is smaller. */
const LONGEST_FILE = 64 * 1024 * 1024;

const OWNER_ONLY = 0o600;

/**
 * Reads a file; `undefined` if it does not exist.
 * @throws {SubscribeError} when it cannot be read
 */
export async function readStored(path: string): Promise<Uint8Array | undefined> {
  try {
    return await new FileDigests(LONGEST_FILE).read(path);
  } catch (error) {
    if (error instanceof FileReadError && codeOf(error.cause) === 'ENOENT') return undefined;
    throw new SubscribeError(`cannot read ${path}: ${messageOf(error)}`, { cause: error });
  }
}

/** Permissions of a new file. */
interface NewFileAccess {
  /** A file whose permission bits are copied; without one only the owner has access. */
  readonly like?: string | undefined;
}

/**
 * Replaces a file atomically, or creates it. Readers see the old or the new contents, also after the process is killed;
 * of a new file, none or all of them.
 * @throws {SubscribeError}
 */
export async function writeStored(
  path: string,
  bytes: Uint8Array,
  { like }: NewFileAccess = {},
  fs: ReplaceFileSystem = systemFiles,
): Promise<void> {
  await writing(path, async () => {
    const isNew = await createEmpty(path, like);
    await unlessFailed(path, isNew, () => replaceFile(path, bytes, fs));
  });
}

/** Runs `work`. @throws {SubscribeError} with the error of `work` as its cause */
async function writing<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new SubscribeError(`cannot write ${path}: ${messageOf(error)}`, { cause: error });
  }
}

/** New contents of a file. */
export interface StoredChange {
  readonly path: string;
  /** The contents as read; `undefined` if the file did not exist. */
  readonly before: Uint8Array | undefined;
  readonly after: Uint8Array;
  /** Permissions, if the file is new. */
  readonly access?: NewFileAccess;
}

/**
 * Replaces files in this order, or creates them. A file that another program has changed since it was read is left
 * unchanged; files before it are then restored.
 *
 * @throws {WeirError}
 */
export async function replaceStored(
  changes: readonly StoredChange[],
): Promise<Pick<EditedFile, 'undo'>> {
  const undos: EditedFile['undo'][] = [];
  const undo = async (): Promise<void> => {
    for (const each of undos.toReversed()) await each();
  };
  try {
    for (const change of changes) undos.push((await replaceOne(change)).undo);
  } catch (error) {
    await undo();
    throw error;
  }
  return { undo };
}

async function replaceOne({ path, before, after, access }: StoredChange): Promise<EditedFile> {
  if (before) return editStored(path, before, after);
  const isNew = await writing(path, () => createEmpty(path, access?.like));
  const empty = new Uint8Array();
  const edited = await unlessFailed(path, isNew, () => editStored(path, empty, after));
  const undo = async (): Promise<void> => {
    await edited.undo();
    if (isNew) await removeEmpty(path);
  };
  return { ...edited, undo };
}

/** Fills a file; if that fails, as on a full disk, a file that was created for it is removed again. */
async function unlessFailed<T>(path: string, isNew: boolean, fill: () => Promise<T>): Promise<T> {
  try {
    return await fill();
  } catch (error) {
    if (isNew) await removeEmpty(path);
    throw error;
  }
}

function editStored(path: string, before: Uint8Array, after: Uint8Array): Promise<EditedFile> {
  return editConfigFile(
    path,
    (found) => {
      if (Buffer.compare(found, before) === 0) return after;
      throw new SubscribeError(`${path} has been changed by another program meanwhile`, {
        hint: 'the change of the other program was kept; run the command again',
      });
    },
    // The caller has checked all files together.
    { check: () => Promise.resolve() },
  );
}

/** Creates an empty file, which is a valid state of each of these files. @returns whether the file did not exist */
async function createEmpty(path: string, like: string | undefined): Promise<boolean> {
  try {
    const mode = like === undefined ? OWNER_ONLY : await modeLike(like);
    await using file = await open(path, 'wx', OWNER_ONLY);
    if (process.geteuid?.() === 0) {
      // What `sudo weir` has written must be readable for a service that has access to the directory.
      const { uid, gid } = await stat(dirname(path));
      await file.chown(uid, gid);
    }
    await file.chmod(mode);
    return true;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    return false;
  }
}

/** Removes a file that is still empty: another program may have written to it in the meantime. */
async function removeEmpty(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.size === 0) await unlink(path).catch(() => undefined);
}

/**
 * The permission bits of a file. Beside a user's file other users get none; beside root's they are kept, since another
 * user may run the service.
 */
async function modeLike(path: string): Promise<number> {
  const mode = (await stat(path)).mode & 0o777;
  return process.geteuid?.() === 0 ? mode : mode & 0o770;
}
