import { stat } from 'node:fs/promises';
import { codeOf, messageOf } from '@weir/base';
import { fileStamp } from '@weir/io/files';

/** Detects changes of files by what the system knows of their last write, without reading them. */
export class FileStamps {
  #stamps = new Map<string, string>();

  /**
   * Whether any of the files, or which files they are, has changed since the last call. A file that is written while
   * its contents are read afterwards counts as changed in the next call.
   */
  async changed(paths: readonly string[]): Promise<boolean> {
    const now = new Map<string, string>();
    for (const path of paths) now.set(path, await stampOf(path));
    const before = this.#stamps;
    this.#stamps = now;
    return now.size !== before.size || paths.some((path) => now.get(path) !== before.get(path));
  }
}

async function stampOf(path: string): Promise<string> {
  try {
    return fileStamp(await stat(path, { bigint: true }));
  } catch (error) {
    return codeOf(error) ?? messageOf(error);
  }
}
