import { readFile, readdir, rm, rmdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

const DECLARATION = /\.d\.ts(\.map)?$/;

/** The relative modules that a declaration names, in `from '…'` and `import('…')`. */
const MODULE = /(?:from|import\()\s*'(\.[^']+)'/g;

/** Deletes the declarations in a folder that those of the library's entry do not lead to. */
export async function keepReachable(folder: string, entry: string): Promise<void> {
  const reachable = new Set([join(folder, entry)]);
  for (const path of reachable) {
    for (const [, name = ''] of (await readFile(path, 'utf8')).matchAll(MODULE)) {
      reachable.add(join(dirname(path), name.replace(/\.[jt]s$/, '.d.ts')));
    }
  }
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const folders: string[] = [];
  for (const file of files) {
    const path = join(file.parentPath, file.name);
    if (file.isDirectory()) folders.push(path);
    else if (DECLARATION.test(path) && !reachable.has(path.replace(/\.map$/, ''))) await rm(path);
  }
  // The innermost first, so that folders of empty folders go too.
  for (const path of folders.toSorted((a, b) => depth(b) - depth(a))) {
    if ((await readdir(path)).length === 0) await rmdir(path);
  }
  function depth(path: string): number {
    return relative(folder, path).split('/').length;
  }
}
