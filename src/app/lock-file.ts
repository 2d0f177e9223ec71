import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, open, realpath, stat, unlink, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { codeOf, messageOf, WeirError, type WeirErrorOptions } from '../errors.ts';
import { openRegularFile } from '../platform/regular-file.ts';

/** How often a lock that is free, or was left by a process that has ended, is tried for without a wait. */
const ATTEMPTS = 8;

/** Milliseconds between looks at a lock that another process holds; random, so that none is always late. */
const POLL_MS = { least: 5, most: 40 } as const;

/**
 * A service of another user has to see the lock of root's command, and whether that has been killed. It holds
 * nothing but a process id.
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
  /** What the lock is for, as in "process 5 is changing the subscriptions". */
  readonly what: string;
  /** Milliseconds that another process is waited for; none by default. */
  readonly waitMs?: number | undefined;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A file that says which process changes the files beside it: its process id and start time, so that the lock
 * of a process that has ended counts for nothing, also when another has its id now.
 */
export class LockFile implements AsyncDisposable {
  readonly #path: string;
  /** Open as long as the lock is held: its release must not need a descriptor, which may be lacking then. */
  readonly #file: FileHandle;

  private constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
  }

  /**
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
      // Whatever the umask.
      await file.chmod(READABLE);
      for (let attempt = 1; ; attempt++) {
        // A link appears with its contents, so that no other process finds an empty lock.
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
      // If it stays, no process looks at it again.
      if (file) await quietly(unlink(own));
      if (!lock) await quietly(file?.close());
    }
  }

  /**
   * Never rejects: what was done under the lock is done. A lock that cannot be removed is emptied, so that it
   * counts for nothing: with the id of this process, nothing could be changed until it ends.
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
 * Locks a file that is replaced by `replaceFile`, for the time from reading it to its replacement: two that
 * edit it at once would otherwise both find the contents that they have read, and the second would undo the
 * edit of the first.
 *
 * @param path a file, or a link to one
 * @returns `undefined` where no lock can be created (no right, no space, no links), or there is no file
 * @throws {LockError} when another process has edited it for longer than `waitMs`
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
    // The replacement, which needs a new file in the same folder, then tells the cause.
    if (error instanceof LockError && error.cause !== undefined) return undefined;
    throw error;
  }
}

/** Whether an open file is the one that has the name now. */
async function isAt(file: FileHandle, path: string): Promise<boolean> {
  const [own, found] = await Promise.all([file.stat(), stat(path)]);
  return own.ino === found.ino && own.dev === found.dev;
}

/** For cleanup that nothing depends on. */
const quietly = async (work: Promise<void> | undefined): Promise<void> =>
  work?.catch(() => undefined);

/** @returns false when `path` is taken */
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
 * Removes the lock of a process that has ended, under a lock of its own: of two that find a stale lock, the second
 * would otherwise remove the one that the first has made since. Nothing else removes a stale lock, and no lock is made
 * while it is there, so that it is the same file from the look at it until it is gone.
 *
 * @returns the id of the process that holds the lock or removes it; `undefined` if it may be free now
 */
async function removeStale(path: string, what: string): Promise<number | undefined> {
  const holder = await holderOf(path);
  if (holder !== 'ended') return holder;
  try {
    // Left by a process that was killed here, this lock is a stale one as well.
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

/** The id of the process that holds a lock, whether that has ended, or `undefined` without a lock. */
async function holderOf(path: string): Promise<number | 'ended' | undefined> {
  const found = await contents(path);
  return found === undefined ? undefined : (runningOwner(found) ?? 'ended');
}

/** The process that a lock names, if that runs. */
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

/** When a process was started, in the kernel's ticks since boot; `undefined` where that is unknown. */
function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name of the program, in brackets, may have spaces. The start time is the 22nd field.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

/** Bytes of a lock that are read: all that one has. */
const LONGEST_LOCK = 256;

/** `undefined` without such a file. */
async function contents(path: string): Promise<string | undefined> {
  try {
    // In a folder that others can write to, anything may be at the name.
    await using file = await openRegularFile(path);
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(LONGEST_LOCK) });
    return buffer.toString('utf8', 0, bytesRead);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** For a file that another process may have removed meanwhile. */
async function ifThere(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}
