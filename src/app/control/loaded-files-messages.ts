/**
 * The response to `loaded-files`: whether the files of the running configuration are as they were when they were
 * loaded. It has no digests, which would show what is in a file to who can guess the rest.
 */
export interface LoadedFiles {
  /** In the order in which they were read: the configuration file first. */
  readonly files: readonly LoadedFile[];
  /** Files beyond those. */
  readonly more: number;
}

export interface LoadedFile {
  /** Absolute. */
  readonly path: string;
  /** `same` also for a file that could not be read then, and cannot be now. */
  readonly state: 'same' | 'changed';
}

/** `undefined` for anything but a response. */
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
