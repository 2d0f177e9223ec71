import { lstatSync, mkdirSync } from 'node:fs';
import { enableCompileCache, flushCompileCache } from 'node:module';
import { join } from 'node:path';

/** Bits of a mode that let others than the owner write. */
const OTHERS_WRITE = 0o022;

/**
 * Has Node keep what it compiles of this program, for the next start: types are then neither stripped nor
 * functions compiled again. Without effect where there is no folder that only this user can write to, since
 * whoever can write there could have this process run code of theirs. Call it before other modules are
 * imported: those that are loaded already are not kept.
 *
 * @param root the folder that has `node_modules`
 */
export function keepCompiledCode(root: string): void {
  try {
    const folder = ownFolder(root, ['node_modules', '.cache', 'weir']);
    if (folder !== undefined) enableCompileCache(folder);
  } catch {
    // The folder cannot be made, or not be read: the start takes longer.
  }
}

/**
 * Writes what has been compiled by now and is not kept yet. Takes some 100 ms at the first start of a version,
 * and nothing at the later ones.
 */
export const writeCompiledCode = (): void => flushCompileCache();

/** The folder below `root`, which this makes but for the first; `undefined` when others could write to it. */
function ownFolder(root: string, names: readonly string[]): string | undefined {
  const user = process.geteuid?.();
  if (user === undefined) return undefined;
  let path = root;
  for (const [depth, name] of names.entries()) {
    path = join(path, name);
    if (depth > 0) mkdirSync(path, { recursive: true, mode: 0o700 });
    const found = lstatSync(path);
    const isOwn = found.isDirectory() && found.uid === user && (found.mode & OTHERS_WRITE) === 0;
    if (!isOwn) return undefined;
  }
  return path;
}
