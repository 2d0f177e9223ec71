import { access, constants, stat } from 'node:fs/promises';
import { dirname, isAbsolute, resolve } from 'node:path';
import { codeOf } from '../errors.ts';

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
