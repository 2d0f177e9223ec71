/**
 * The response to `loaded-files`: whether the files of the running configuration have changed since they were loaded.
 * It has no digests, which would reveal a file's contents to a client that can guess the rest.
 */
export interface LoadedFiles {
  /** Files in the order in which they were read: the configuration file first. */
  readonly files: readonly LoadedFile[];
  /** Number of further files. */
  readonly more: number;
}

export interface LoadedFile {
  /** Absolute path. */
  readonly path: string;
  /** `same` also for a file that could not be read then and still cannot. */
  readonly state: 'same' | 'changed';
}

/** Parses the response to `loaded-files`; `undefined` for any other value. */
export function toLoadedFiles(parsed: unknown): LoadedFiles | undefined {
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  if (!('files' in parsed) || !Array.isArray(parsed.files)) return undefined;
  if (!('more' in parsed) || typeof parsed.more !== 'number') return undefined;
  const files: readonly unknown[] = parsed.files;
  return files.every(isLoadedFile) ? { files, more: parsed.more } : undefined;
}

const isLoadedFile = (file: unknown): file is LoadedFile =>
  typeof file === 'object' &&
  file !== null &&
  'path' in file &&
  typeof file.path === 'string' &&
  'state' in file &&
  (file.state === 'same' || file.state === 'changed');
