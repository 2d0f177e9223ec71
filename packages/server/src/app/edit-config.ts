import { ConfigError, configHints, renderConfigError } from '@weir/config';
import { CodedError, messageOf, WeirError } from '@weir/base';
import { ApplyError } from '../supervisor/reload-report.ts';
import { checkConfig } from './configuration.ts';
import { FileDigests } from './loading/file-digests.ts';
import { lockEdited } from './lock-file.ts';
import { replaceFile, systemFiles, type ReplaceFileSystem } from './replace-file.ts';

type EditErrorCode =
  /** The file cannot be read. */
  | 'unreadable'
  /** The current file cannot be edited, or the result would not be a valid configuration. */
  | 'invalid'
  /** Another program has changed the file in the meantime. */
  | 'stale'
  /** Another process has locked the file for too long. */
  | 'locked'
  /** The result cannot be written. */
  | 'write';

/** A file that was not edited; `message` names the file. */
export class EditError extends CodedError<EditErrorCode> {}

/** A file after an edit. */
export interface EditedFile {
  readonly path: string;
  readonly before: Uint8Array;
  readonly after: Uint8Array;
  /** Whether the edit has changed the contents; otherwise nothing was written. */
  readonly changed: boolean;
  /**
   * Restores the contents from before the edit, without a check.
   * @throws {EditError} `stale` when the file has been changed since
   */
  readonly undo: () => Promise<void>;
}

interface EditOptions {
  /** Checks the result before it is written; by default as `--test` does. @throws {WeirError} */
  readonly check?: (path: string, edited: Uint8Array) => Promise<unknown>;
  /** Whether to do everything but the write. */
  readonly dryRun?: boolean;
  readonly fs?: ReplaceFileSystem;
}

/**
 * Edits a configuration file: reads it, calls `edit` with its bytes, checks the result as `--test` does, and replaces
 * the file atomically. Until the write, no step changes anything. Edits of one file are serialised, also across
 * processes.
 * @param path a regular file, or a link to one
 * @param edit returns the new contents; equal contents are neither checked nor written. Its errors are passed on,
 * except that a ConfigError becomes an EditError `invalid`
 * @throws {EditError}
 */
export async function editConfigFile(
  path: string,
  edit: (bytes: Uint8Array) => Uint8Array | Promise<Uint8Array>,
  { check = checkBytes, dryRun = false, fs = systemFiles }: EditOptions = {},
): Promise<EditedFile> {
  await using _lock = dryRun ? undefined : await lock(path);
  const before = await readConfigFile(path);
  const after = await inEdit(`${path} cannot be edited`, async () => edit(before));
  const changed = !isEqual(before, after);
  if (changed) {
    await inEdit(`the edited ${path} would be invalid`, () => check(path, after));
    if (!dryRun) await replaceUnlessChanged(path, before, after, fs);
  }
  return {
    path,
    before,
    after,
    changed,
    undo: async () => {
      if (!changed || dryRun) return;
      await using _undoLock = await lock(path);
      await replaceUnlessChanged(path, after, before, fs);
    },
  };
}

const checkBytes = (path: string, bytes: Uint8Array): Promise<unknown> =>
  checkConfig(path, { bytes });

const isEqual = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/** Milliseconds to wait for edits by other processes: each checks a whole configuration. */
const LOCK_MS = 60_000;

/** Locks the file; `undefined` where no lock can be created. @throws {EditError} `locked` */
async function lock(path: string): Promise<AsyncDisposable | undefined> {
  try {
    return await lockEdited(path, { waitMs: LOCK_MS });
  } catch (error) {
    const hint = error instanceof WeirError ? error.hint : undefined;
    throw new EditError('locked', messageOf(error), { cause: error, hint });
  }
}

/** Reads the file. @throws {EditError} if it cannot be read */
export async function readConfigFile(path: string): Promise<Uint8Array> {
  try {
    return await new FileDigests().read(path);
  } catch (error) {
    throw new EditError('unreadable', `cannot read ${path}: ${messageOf(error)}`, { cause: error });
  }
}

async function replaceUnlessChanged(
  path: string,
  expected: Uint8Array,
  bytes: Uint8Array,
  fs: ReplaceFileSystem,
): Promise<void> {
  if (!isEqual(await readConfigFile(path), expected)) {
    throw new EditError('stale', `${path} has been changed by another program meanwhile`, {
      hint: 'the change of the other program was kept; run the command again',
    });
  }
  try {
    await replaceFile(path, bytes, fs);
  } catch (error) {
    throw new EditError('write', `cannot write ${path}: ${messageOf(error)}`, { cause: error });
  }
}

/** Runs `work`; a ConfigError becomes an EditError whose message begins with `subject`. */
async function inEdit<T>(subject: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ConfigError) {
      const hint = configHints(error).join('\n');
      throw new EditError('invalid', `${subject}: ${renderConfigError(error)}`, {
        cause: error,
        ...(hint !== '' && { hint }),
      });
    }
    if (error instanceof ApplyError) {
      throw new EditError('invalid', `${subject}: ${error.message}`, { cause: error });
    }
    throw error;
  }
}
