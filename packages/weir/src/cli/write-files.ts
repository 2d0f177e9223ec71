import { chmod, mkdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileReason } from '@weir/io/files';
import { createFile, replaceFile } from '@weir/server/files';
import { codeOf, WeirError } from '@weir/base';

/** A file that a command writes. */
export interface OutputFile {
  readonly path: string;
  readonly text: string | Uint8Array;
  /** Whether only its owner may read it. */
  readonly secret: boolean;
}

const SECRET_MODE = 0o600;
/** Permissions for users other than the owner and the group. */
const OTHERS = 0o007;
const PUBLIC_MODE = 0o644;

type Found = 'nothing' | 'file' | 'other';

/**
 * Writes files; without `force`, no file is written if any of them exists. A regular file is replaced atomically;
 * anything else, such as a pipe or a device, is written in place. If a file cannot be written, those before it are
 * restored.
 *
 * @throws {WeirError} `output`
 */
export async function writeFiles(given: readonly OutputFile[], force: boolean): Promise<void> {
  const files = force ? await Promise.all(given.map(throughLink)) : given;
  const found = new Map<OutputFile, Found>();
  for (const file of files) found.set(file, await at(file.path));
  if (!force) {
    const taken = files.find((file) => found.get(file) === 'file');
    if (taken) throw existsError(taken.path);
  }
  const undos: (() => Promise<void>)[] = [];
  try {
    for (const file of files) {
      const kind = found.get(file) ?? 'nothing';
      const undo = await undoOf(file.path, kind);
      await writeOne(file, kind);
      undos.push(undo);
    }
  } catch (error) {
    for (const undo of undos.toReversed()) await undo();
    throw error;
  }
}

/** The target of a dangling symbolic link, which is where the file is created; otherwise the file unchanged. */
async function throughLink(file: OutputFile): Promise<OutputFile> {
  const { path } = file;
  if ((await at(path)) !== 'nothing') return file;
  const target = await readlink(path).catch(() => undefined);
  return target === undefined ? file : { ...file, path: resolve(dirname(path), target) };
}

/** Returns a function that restores the previous state of a file. */
async function undoOf(path: string, found: Found): Promise<() => Promise<void>> {
  switch (found) {
    case 'nothing':
      return () => rm(path, { force: true });
    case 'file': {
      const before = await readOld(path);
      return () => replaceFile(path, before);
    }
    case 'other':
      return () => Promise.resolve();
    default:
      return found satisfies never;
  }
}

/** Creates a directory for files, with its parents. @throws {WeirError} `output` */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (cause) {
    throw new WeirError('output', `cannot make ${folder}: ${fileReason(cause)}`, { cause });
  }
}

async function readOld(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new WeirError('output', `cannot read ${path}: ${fileReason(cause)}`, { cause });
  }
}

async function writeOne({ path, text, secret }: OutputFile, found: Found): Promise<void> {
  try {
    switch (found) {
      case 'nothing':
        await createFile(path, text, secret ? SECRET_MODE : PUBLIC_MODE);
        return;
      case 'file':
        // The new file has the permissions of the old one. Access for a group was granted on purpose, such as to a
        // service's.
        if (secret && ((await stat(path)).mode & OTHERS) !== 0) await chmod(path, SECRET_MODE);
        await replaceFile(path, Buffer.from(text));
        return;
      case 'other':
        await writeFile(path, text);
        return;
      default:
        return found satisfies never;
    }
  } catch (cause) {
    if (codeOf(cause) === 'EEXIST') throw existsError(path, cause);
    throw new WeirError('output', `cannot write ${path}: ${fileReason(cause)}`, { cause });
  }
}

async function at(path: string): Promise<Found> {
  try {
    return (await stat(path)).isFile() ? 'file' : 'other';
  } catch {
    // Writing reports any other cause.
    return 'nothing';
  }
}

const existsError = (path: string, cause?: unknown): WeirError =>
  new WeirError('output', `${path} exists; --force replaces it`, { cause });
