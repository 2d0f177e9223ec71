import { resolve } from 'node:path';
import { WeirError, type WeirErrorOptions } from '@weir/base';
import type { Located } from '@weir/proxy/schema';
import { Finding } from '../findings.ts';

/** The error of a file that cannot be read; `message` is the reason alone: `no such file or directory`. */
export class FileReadError extends WeirError {
  constructor(reason: string, options?: WeirErrorOptions) {
    super('file_read', reason, options);
  }
}

/** Reads the files of one load. Relative paths are relative to the process's working directory. */
export interface FileReader {
  /**
   * Reads a file.
   * @throws {FileReadError}
   */
  read(path: string): Promise<Uint8Array>;
  /**
   * Returns the SHA-256 of a file in hex, for files that are not kept in memory as a whole.
   * @throws {FileReadError}
   */
  sha256(path: string): Promise<string>;
  /** Whether users other than the owner and the group may read a file; false if unknown. */
  isPublic(path: string): Promise<boolean>;
}

/** Paths of the files that a configuration names. */
export interface NamedFiles {
  readonly contents: ReadonlySet<string>;
  /** Files of which only the SHA-256 is needed. */
  readonly digests: ReadonlySet<string>;
}

/**
 * The files that a configuration names. Lowering is synchronous and opens no files: they are read before it, and an
 * unreadable one becomes a Finding at the key that names it.
 */
export class InputFiles {
  readonly #contents = new Map<string, Uint8Array | FileReadError>();
  readonly #digests = new Map<string, string | FileReadError>();
  readonly #public = new Set<string>();
  readonly #directory: string | undefined;

  /** @param directory of relative paths; the process's working directory if undefined */
  constructor(directory?: string) {
    this.#directory = directory;
  }

  /** @param reader reads paths as the configuration has them */
  static async read(
    { contents, digests }: NamedFiles,
    reader: FileReader,
    directory?: string,
  ): Promise<InputFiles> {
    const files = new InputFiles(directory);
    for (const path of contents) {
      if (await reader.isPublic(path)) files.#public.add(path);
      files.#contents.set(path, await reader.read(path).catch(toFailure));
    }
    for (const path of digests) {
      files.#digests.set(path, await reader.sha256(path).catch(toFailure));
    }
    return files;
  }

  /**
   * Returns the content of a file.
   * @param failure the beginning of the message, before the path and the reason: `dns: cannot read ca_file`.
   * @throws {Finding} of kind `io` when it cannot be read
   */
  content(path: Located<string>, failure: string): Uint8Array {
    return readable(this.#contents, path, failure);
  }

  /** Returns the SHA-256 of a file, in hex. @throws {Finding} as `content` does. */
  sha256(path: Located<string>, failure: string): string {
    return readable(this.#digests, path, failure);
  }

  /** Returns a path for readers that do not know the directory of relative paths. */
  located(path: string): string {
    return this.#directory === undefined ? path : resolve(this.#directory, path);
  }

  /** The files that were read and that other users may read. */
  get public(): ReadonlySet<string> {
    return this.#public;
  }
}

/** Returns a reader of paths relative to a directory, if there is one. */
export function within(directory: string | undefined, reader: FileReader): FileReader {
  if (directory === undefined) return reader;
  return {
    read: (path) => reader.read(resolve(directory, path)),
    sha256: (path) => reader.sha256(resolve(directory, path)),
    isPublic: (path) => reader.isPublic(resolve(directory, path)),
  };
}

function toFailure(error: unknown): FileReadError {
  if (error instanceof FileReadError) return error;
  throw error;
}

function readable<T>(
  files: ReadonlyMap<string, T | FileReadError>,
  { value: path, span }: Located<string>,
  failure: string,
): T {
  const found = files.get(path);
  if (found === undefined) throw new RangeError(`${path} was not read before lowering`);
  if (!(found instanceof FileReadError)) return found;
  throw new Finding(`${failure} ${path}: ${found.message}`, span, { kind: 'io', cause: found });
}
