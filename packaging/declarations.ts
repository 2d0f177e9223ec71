import { readFile, readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { directImports, directTypes, pathTo } from './direct-imports.ts';
import { ROOT } from './root.ts';

const DECLARATION = /\.d\.ts(\.map)?$/;

/** The relative modules that a declaration names, in `from '…'` and `import("…")`. */
const MODULE = /(?:from|import\()\s*['"](\.[^'"]+)['"]/g;

/**
 * Deletes the declarations in a folder that those of some entries do not lead to. The others name each other by
 * paths afterwards: a user has no packages of the source.
 *
 * @param folder with the declarations of each package in a folder of its name
 */
export async function keepReachable(folder: string, ...entries: readonly string[]): Promise<void> {
  const reachable = new Set(entries.map((entry) => join(folder, entry)));
  for (const path of reachable) {
    const locate = (file: string): string =>
      pathTo(path, join(folder, relative(join(ROOT, 'packages'), file)).replace(/\.ts$/, '.js'));
    const text = directTypes(directImports(await readFile(path, 'utf8'), locate), locate);
    await writeFile(path, text);
    for (const [, name = ''] of text.matchAll(MODULE)) {
      reachable.add(join(dirname(path), name.replace(/\.[jt]s$/, '.d.ts')));
    }
    if (/['"]@weir\//.test(text)) throw new Error(`${path} names a package of the source`);
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
