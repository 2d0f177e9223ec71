import { FileDigests } from '@weir/server/app/loading/file-digests';
import type { Mutex } from '@weir/server/edits';
import type { OfFile } from './file-requests.ts';
import { fileStamp } from './read-configuration.ts';

/** Maximum size in bytes of all files of a configuration. */
export const MAX_BYTES = 256 << 20;

/** The last attempt to read the files of a configuration. */
interface Attempt<T> extends OfFile {
  readonly files: readonly string[];
  readonly stamps: readonly string[];
  readonly outcome: { readonly found: T } | { readonly error: unknown };
}

/** The result of reading one configuration, cached until one of its files changes. */
export class KeptReading<T> {
  readonly #mutex: Mutex;
  readonly #read: (file: OfFile, files: FileDigests) => Promise<T>;
  #last: Attempt<T> | undefined;

  /** @param mutex limits reading to one configuration at a time: each takes much memory */
  constructor(mutex: Mutex, read: (file: OfFile, files: FileDigests) => Promise<T>) {
    this.#mutex = mutex;
    this.#read = read;
  }

  /** @throws the error of reading the files, until one of them has changed */
  async of({ path, pid }: OfFile): Promise<T> {
    const release = await this.#mutex.acquire();
    try {
      const last = this.#last;
      const isCurrent =
        last?.path === path &&
        last.pid === pid &&
        (await Promise.all(last.files.map(fileStamp))).every(
          (stamp, at) => stamp === last.stamps[at],
        );
      const { outcome } = isCurrent ? last : (this.#last = await this.#attempt({ path, pid }));
      if ('error' in outcome) throw outcome.error;
      return outcome.found;
    } finally {
      release();
    }
  }

  async #attempt(file: OfFile): Promise<Attempt<T>> {
    this.#last = undefined; // two configurations at a time would take twice the memory
    const files = new FileDigests(MAX_BYTES);
    let outcome: Attempt<T>['outcome'];
    try {
      outcome = { found: await this.#read(file, files) };
    } catch (error) {
      outcome = { error };
    }
    const { paths } = files;
    return { ...file, files: paths, stamps: await Promise.all(paths.map(fileStamp)), outcome };
  }
}
