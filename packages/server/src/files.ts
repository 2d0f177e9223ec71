/** Files that are made and replaced as a whole. */
export { createFile } from './app/create-file.ts';
export { replaceFile, type ReplaceFileSystem, systemFiles } from './app/replace-file.ts';
