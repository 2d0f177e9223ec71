import { WeirError } from '../errors.ts';

/** A file that cannot be read; `message` is the reason alone: `no such file or directory`. */
export class FileReadError extends WeirError {
  constructor(reason: string, options?: ErrorOptions) {
    super('file_read', reason, options);
  }
}

/** Reads the files of one load. Relative paths are relative to the process's working directory. */
export interface FileReader {
  /** @throws {FileReadError} */
  read(path: string): Promise<Uint8Array>;
  /**
   * The SHA-256 of a file in hex, for files of which not everything is kept in memory.
   * @throws {FileReadError}
   */
  sha256(path: string): Promise<string>;
}
