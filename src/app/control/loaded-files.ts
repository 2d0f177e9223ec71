import { resolve } from 'node:path';
import type { Instance } from '../instance.ts';
import type { LoadedFile, LoadedFiles } from './loaded-files-messages.ts';

/** Maximum number of files compared for one request; a configuration also names the files of its certificates. */
const MAX_FILES = 64;

/** Handles `loaded-files` on the control socket: reads the files again, one after the other. */
export async function answerLoadedFiles({
  loadedFiles,
}: Pick<Instance, 'loadedFiles'>): Promise<LoadedFiles> {
  const files: LoadedFile[] = [];
  const { length: count } = loadedFiles.paths;
  for await (const { path, isSame } of loadedFiles.compared()) {
    files.push({ path: resolve(path), state: isSame ? 'same' : 'changed' });
    if (files.length === MAX_FILES) break;
  }
  return { files, more: count - files.length };
}
