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

/**
 * The contents of the files that a configuration names.
 *
 * Lowering is synchronous and opens no files. It gets contents here; a file not yet read is recorded and fails with a
 * Finding, and lowering is repeated after `readWanted` has read it. Thus only the tables decide which of their keys
 * name files.
 */
export class InputFiles {
  readonly #contents = new FilesAsked((reader, path) => reader.read(path));
  readonly #public = new Set<string>();
  readonly #digests = new FilesAsked((reader, path) => reader.sha256(path));

  /**
   * Returns the content of a file.
   * @param failure the beginning of the message, before the path and the reason: `dns: cannot read ca_file`.
   * @throws {Finding} of kind `io` when it cannot be read, of any kind when it was not yet read.
   */
  content(path: Located<string>, failure: string): Uint8Array {
    return this.#contents.get(path, failure);
  }

  /** Returns the SHA-256 of a file, in hex. @throws {Finding} as `content` does. */
  sha256(path: Located<string>, failure: string): string {
    return this.#digests.get(path, failure);
  }

  /** The files whose content was requested and that other users may read. */
  get public(): ReadonlySet<string> {
    return this.#public;
  }

  /** Reads the files that were requested and not yet read; returns whether there were any. */
  async readWanted(reader: FileReader): Promise<boolean> {
    for (const path of this.#contents.wanted) {
      if (await reader.isPublic(path)) this.#public.add(path);
    }
    const contents = await this.#contents.readWanted(reader);
    const digests = await this.#digests.readWanted(reader);
    return contents || digests;
  }
}

/** One kind of data that is read from files. */
class FilesAsked<T> {
  readonly #read: (reader: FileReader, path: string) => Promise<T>;
  readonly #known = new Map<string, { readonly value: T } | FileReadError>();
  readonly #wanted = new Set<string>();

  constructor(read: (reader: FileReader, path: string) => Promise<T>) {
    this.#read = read;
  }

  /** Requested files that were not yet read. */
  get wanted(): ReadonlySet<string> {
    return this.#wanted;
  }

  get({ value: path, span }: Located<string>, failure: string): T {
    const known = this.#known.get(path);
    if (!known) {
      this.#wanted.add(path);
      throw new Finding(`${path} has not been read yet`, span);
    }
    if ('value' in known) return known.value;
    throw new Finding(`${failure} ${path}: ${known.message}`, span, { kind: 'io', cause: known });
  }

  async readWanted(reader: FileReader): Promise<boolean> {
    const any = this.#wanted.size > 0;
    for (const path of this.#wanted) this.#known.set(path, await this.#outcome(reader, path));
    this.#wanted.clear();
    return any;
  }

  async #outcome(reader: FileReader, path: string): Promise<{ readonly value: T } | FileReadError> {
    try {
      return { value: await this.#read(reader, path) };
    } catch (error) {
      if (error instanceof FileReadError) return error;
      throw error;
    }
  }
}
