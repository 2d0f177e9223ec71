import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, open, realpath, stat, unlink, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { codeOf, messageOf, WeirError, type WeirErrorOptions } from '@weir/base';
import { openRegularFile } from '@weir/io/files';

/** Number of attempts to acquire a lock that is free or stale, without waiting. */
const ATTEMPTS = 8;

/** Milliseconds between checks of a lock that another process holds; random, so that no process is always late. */
const POLL_MS = { least: 5, most: 40 } as const;

/**
 * A service of another user must see the lock of root's command, and whether its process was killed. The file contains
 * only a process id and start time.
 */
const READABLE = 0o644;

/** Another process changes the same files, or their lock cannot be created. */
export class LockError extends WeirError {
  /** The id of the process that holds the lock; `undefined` where it cannot be created. */
  readonly holder: number | undefined;

  constructor(message: string, options?: WeirErrorOptions & { readonly holder?: number }) {
    super('locked', message, options);
    this.holder = options?.holder;
  }
}

export interface LockOptions {
  /** The purpose of the lock, as in "process 5 is changing the subscriptions". */
  readonly what: string;
  /** Milliseconds to wait for another process; 0 by default. */
  readonly waitMs?: number | undefined;
  /** Ends the wait for another process. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A lock file that names the process that changes the files beside it, by process id and start time: the lock of an
 * ended process is stale, even if another process has its id now.
 */
export class LockFile implements AsyncDisposable {
  readonly #path: string;
  /** Kept open while the lock is held: releasing it must not need a new descriptor, since none may be left. */
  readonly #file: FileHandle;

  private constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
  }

  /**
   * Acquires a lock.
   *
   * @throws {LockError} when another process holds it for longer than `waitMs`, or it cannot be created
   * @throws the reason of `signal`
   */
  static async acquire(path: string, { what, waitMs = 0, signal }: LockOptions): Promise<LockFile> {
    const owner = `${process.pid} ${startTimeOf(process.pid) ?? ''}\n`;
    const own = `${path}.${process.pid}.${randomInt(2 ** 31)}`;
    const end = performance.now() + waitMs;
    let file: FileHandle | undefined;
    let lock: LockFile | undefined;
    try {
      file = await open(own, 'wx', READABLE);
      await file.writeFile(owner);
      // Independent of the umask.
      await file.chmod(READABLE);
      for (let attempt = 1; ; attempt++) {
        // A link appears with its contents, so that no other process sees an empty lock.
        if (await linked(own, path)) return (lock = new LockFile(path, file));
        const holder = await removeStale(path, what);
        if (holder === undefined && attempt < ATTEMPTS) continue;
        if (performance.now() >= end) throw heldBy(holder, what, path);
        await setTimeout(randomInt(POLL_MS.least, POLL_MS.most), undefined, { signal });
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof LockError) throw error;
      throw new LockError(`cannot lock ${path}: ${messageOf(error)}`, { cause: error });
    } finally {
      // If it remains, no process reads it again.
      if (file) await quietly(unlink(own));
      if (!lock) await quietly(file?.close());
    }
  }

  /**
   * Releases the lock. Never rejects: the work under the lock is done. A lock that cannot be removed is emptied, which
   * makes it stale: with the id of this process in it, nothing could be changed until the process ends.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      if (await isAt(this.#file, this.#path)) await unlink(this.#path);
    } catch {
      await quietly(this.#file.truncate());
    } finally {
      await quietly(this.#file.close());
    }
  }
}

/**
 * Locks a file that `replaceFile` replaces, from reading it to its replacement: of two concurrent edits, each would
 * otherwise find the contents that it has read, and the second would undo the first.
 * @param path a file, or a link to one
 * @returns `undefined` where no lock can be created (no permission, no space, no links), or the file does not exist
 * @throws {LockError} when another process has held the lock for longer than `waitMs`
 * @throws the reason of `signal`
 */
export async function lockEdited(
  path: string,
  options: Omit<LockOptions, 'what'>,
): Promise<LockFile | undefined> {
  const target = await realpath(path).catch(() => undefined);
  if (target === undefined) return undefined;
  const lock = join(dirname(target), `.${basename(target)}.lock`);
  try {
    return await LockFile.acquire(lock, { ...options, what: path });
  } catch (error) {
    // The replacement, which needs a new file in the same directory, then reports the cause.
    if (error instanceof LockError && error.cause !== undefined) return undefined;
    throw error;
  }
}

/** Whether a path still names an open file. */
async function isAt(file: FileHandle, path: string): Promise<boolean> {
  const [own, found] = await Promise.all([file.stat(), stat(path)]);
  return own.ino === found.ino && own.dev === found.dev;
}

/** Ignores errors of cleanup that nothing depends on. */
const quietly = async (work: Promise<void> | undefined): Promise<void> =>
  work?.catch(() => undefined);

/** Creates a hard link. @returns false when `path` exists */
async function linked(own: string, path: string): Promise<boolean> {
  try {
    await link(own, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Removes the lock of an ended process, under a lock of its own: of two processes that find a stale lock, the second
 * would otherwise remove the one that the first has created since. Nothing else removes a stale lock, and no lock is
 * created while it exists, so that the file checked is the file removed.
 * @returns the id of the process that holds the lock or removes it; `undefined` if it may be free now
 */
async function removeStale(path: string, what: string): Promise<number | undefined> {
  const holder = await holderOf(path);
  if (holder !== 'ended') return holder;
  try {
    // If a process was killed here, this lock is stale as well, and removed in the same way.
    await using _removal = await LockFile.acquire(`${path}.stale`, { what });
    const now = await holderOf(path);
    if (now !== 'ended') return now;
    await ifThere(unlink(path));
    return undefined;
  } catch (error) {
    if (error instanceof LockError && error.cause === undefined) return error.holder;
    throw error;
  }
}

/** The id of the process that holds a lock; `ended` for a stale lock, `undefined` without a lock. */
async function holderOf(path: string): Promise<number | 'ended' | undefined> {
  const found = await contents(path);
  return found === undefined ? undefined : (runningOwner(found) ?? 'ended');
}

/** The id of the process that a lock names, if that process is running. */
function runningOwner(lock: string): number | undefined {
  const [id = '', startTime = ''] = lock.trim().split(' ');
  const pid = Number(id);
  if (!/^\d{1,9}$/.test(id) || pid === 0 || !isRunning(pid)) return undefined;
  const now = startTimeOf(pid);
  return startTime !== '' && now !== undefined && now !== startTime ? undefined : pid;
}

function heldBy(holder: number | undefined, what: string, path: string): LockError {
  if (holder === undefined) return new LockError(`cannot lock ${path}: other processes are faster`);
  return new LockError(`process ${holder} is changing ${what} at the moment`, {
    hint: `it holds ${path}; try again when it has ended`,
    holder,
  });
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** When a process was started, in the kernel's ticks since boot; `undefined` where it is unknown. */
function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The program's name, in parentheses, may contain spaces. The start time is the 22nd field.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

/** Maximum bytes of a lock that are read; no lock is longer. */
const LONGEST_LOCK = 256;

/** The contents of a file; `undefined` if it does not exist. */
async function contents(path: string): Promise<string | undefined> {
  try {
    // In a directory that others can write to, the name may belong to anything.
    await using file = await openRegularFile(path);
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(LONGEST_LOCK) });
    return buffer.toString('utf8', 0, bytesRead);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Awaits work on a file, and ignores that another process has removed it. */
async function ifThere(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}
