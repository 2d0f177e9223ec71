import { createHash, hash } from 'node:crypto';
import { closeSync, constants, readSync, statSync } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname, isAbsolute, resolve } from 'node:path';
import { type FileReader, FileReadError } from '@weir/config/documents';
import { codeOf, WeirError } from '@weir/base';
import { fileReason, openRegularFile, openRegularFileSync } from '@weir/io/files';

/** Bytes of one read; hashing them takes a fraction of a millisecond. */
const CHUNK = 256 * 1024;

/** Maximum bytes of a file; no configuration file is longer. */
const MAX_LENGTH = 512 * 1024 * 1024;

/** The contents of a FileDigests, as plain data. */
export interface FilesSeen {
  /** States by path: the SHA-256 of the content, or why it could not be read. */
  readonly states: ReadonlyMap<string, string>;
  /** Whether a file changed between two reads, so that the load mixes two states. */
  readonly torn: boolean;
}

/** The files exceed the budget of a FileDigests, which says nothing about their validity. */
export class ReadBudgetError extends WeirError {
  constructor() {
    super('too_much_to_read', 'the files are longer than was to be read here');
  }
}

/**
 * Reads files and remembers their digests, so that a later reload can detect whether any has changed. Use an instance
 * for one load only. It is valid after a failed load too: files that were not read had no influence.
 */
export class FileDigests implements FileReader {
  #seen = new Map<string, string>();
  #torn = false;
  #budget: number;
  readonly #blocking: boolean;

  /**
   * @param budget maximum bytes to read in all; a read beyond rejects with ReadBudgetError
   * @param blocking whether reads block this thread, and so need no thread pool
   */
  constructor(budget = Infinity, blocking = false) {
    this.#budget = budget;
    this.#blocking = blocking;
  }

  get seen(): FilesSeen {
    return { states: this.#seen, torn: this.#torn };
  }

  /** Replaces the contents by those of another FileDigests. */
  adopt({ states, torn }: FilesSeen): void {
    this.#seen = new Map(states);
    this.#torn = torn;
  }

  /** Records a file as read with these bytes, before they have been written to it. */
  expect(path: string, bytes: Uint8Array): void {
    this.#record(path, hash('sha256', bytes));
  }

  /** The files that the load depends on, whether or not they could be read. */
  get paths(): readonly string[] {
    return [...this.#seen.keys()];
  }

  async read(path: string): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    await this.#read(path, (chunk) => chunks.push(Uint8Array.from(chunk)));
    return Buffer.concat(chunks);
  }

  sha256(path: string): Promise<string> {
    return this.#read(path, () => undefined);
  }

  async isPublic(path: string): Promise<boolean> {
    try {
      const { mode } = this.#blocking ? statSync(path) : await stat(path);
      return (mode & constants.S_IROTH) !== 0;
    } catch {
      return false; // reading the file reports why
    }
  }

  /**
   * Whether every file has the same bytes as before, or still cannot be read for the same reason. Reads the files
   * again, one after the other and in chunks.
   */
  async unchanged(): Promise<boolean> {
    if (this.#torn) return false;
    for await (const { isSame } of this.compared()) if (!isSame) return false;
    return true;
  }

  /** Compares each file with its recorded state; reads one file per step. */
  async *compared(): AsyncGenerator<{ readonly path: string; readonly isSame: boolean }> {
    for (const [path, seen] of this.#seen) yield { path, isSame: (await stateOf(path)) === seen };
  }

  async #read(path: string, take: (chunk: Uint8Array) => void): Promise<string> {
    try {
      const spend = (chunk: Uint8Array): void => {
        this.#budget -= chunk.length;
        if (this.#budget < 0) throw new ReadBudgetError();
        take(chunk);
      };
      const digest = this.#blocking ? digestOfSync(path, spend) : await digestOf(path, spend);
      this.#record(path, digest);
      return digest;
    } catch (error) {
      if (error instanceof ReadBudgetError) throw error;
      const failure = toReadError(error, await pathHint(path, error));
      this.#record(path, failure.message);
      throw failure;
    }
  }

  #record(path: string, state: string): void {
    const before = this.#seen.get(path);
    if (before === undefined) this.#seen.set(path, state);
    else if (before !== state) this.#torn = true;
  }
}

/** The current state of a file, in the form of `FilesSeen`. */
async function stateOf(path: string): Promise<string> {
  try {
    return await digestOf(path, () => undefined);
  } catch (error) {
    return toReadError(error).message;
  }
}

/** The SHA-256 of a file in hex; `take` receives the content in chunks whose buffer is reused. */
async function digestOf(path: string, take: (chunk: Uint8Array) => void): Promise<string> {
  const content = new Content(take);
  await using file = await openRegularFile(path);
  while (content.add((await file.read(content.buffer, 0, CHUNK, null)).bytesRead));
  return content.digest();
}

/** The SHA-256 of a file in hex, read synchronously; `take` receives the content in chunks whose buffer is reused. */
function digestOfSync(path: string, take: (chunk: Uint8Array) => void): string {
  const content = new Content(take);
  const fd = openRegularFileSync(path);
  try {
    while (content.add(readSync(fd, content.buffer, 0, CHUNK, null)));
    return content.digest();
  } finally {
    closeSync(fd);
  }
}

/** The content of a file, read chunk by chunk. */
class Content {
  /** The buffer that chunks are read into. */
  readonly buffer = Buffer.allocUnsafe(CHUNK);
  readonly #hash = createHash('sha256');
  readonly #take: (chunk: Uint8Array) => void;
  #length = 0;

  constructor(take: (chunk: Uint8Array) => void) {
    this.#take = take;
  }

  /**
   * Adds the chunk in `buffer`.
   * @returns false at the end of the file
   * @throws {FileReadError} when the file is too large
   */
  add(bytesRead: number): boolean {
    this.#length += bytesRead;
    if (this.#length > MAX_LENGTH) throw new FileReadError('the file is too large');
    const chunk = this.buffer.subarray(0, bytesRead);
    this.#hash.update(chunk);
    if (bytesRead > 0) this.#take(chunk);
    return bytesRead > 0;
  }

  /** The SHA-256 of the content, in hex. */
  digest(): string {
    return this.#hash.digest('hex');
  }
}

/** Converts an error of Node to one without the system call and the path. */
function toReadError(error: unknown, hint?: string): FileReadError {
  if (error instanceof FileReadError) return error;
  return new FileReadError(fileReason(error), { cause: error, hint });
}

/** Maximum number of parent directories that are examined. */
const MOST_FOLDERS = 64;

/**
 * Explains why a file could not be read, in more detail than the operating system: the directory that a relative path
 * is resolved against, the missing directory, or the one without search permission.
 */
export async function pathHint(path: string, error: unknown): Promise<string | undefined> {
  const code = codeOf(error);
  if (code !== 'ENOENT' && code !== 'EACCES') return undefined;
  const lines: string[] = [];
  // A file that exists was resolved correctly.
  if (code === 'ENOENT' && !isAbsolute(path)) {
    lines.push(`${path} is relative to the working directory, ${process.cwd()}`);
  }
  const full = resolve(path);
  const problem = code === 'ENOENT' ? await missingFolder(full) : await deniedPart(full);
  if (problem !== undefined) lines.push(problem);
  return lines.length === 0 ? undefined : lines.join('\n');
}

/** The parent directories, from the root down. */
function foldersOf(path: string): readonly string[] {
  const folders: string[] = [];
  for (let at = dirname(path); folders.length < MOST_FOLDERS; at = dirname(at)) {
    folders.unshift(at);
    if (at === dirname(at)) break;
  }
  return folders;
}

async function missingFolder(path: string): Promise<string | undefined> {
  for (const folder of foldersOf(path)) {
    try {
      await stat(folder);
    } catch (error) {
      return codeOf(error) === 'ENOENT' ? `there is no folder ${folder}` : undefined;
    }
  }
  return undefined;
}

async function deniedPart(path: string): Promise<string> {
  const user = process.getuid === undefined ? 'this user' : `user ${process.getuid()}`;
  for (const folder of foldersOf(path)) {
    try {
      await access(folder, constants.X_OK);
    } catch {
      return `${user} may not enter the folder ${folder}`;
    }
  }
  return `${user} may not read ${path}`;
}
