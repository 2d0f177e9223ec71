// @ts-check
/*
 * JavaScript, as is `packages/weir/src/main.js`: what strips the types of a module that is not in the cache takes 20 MB
 * for the life of the process, and 40 ms.
 */
import { lstatSync, mkdirSync } from 'node:fs';
import { enableCompileCache, flushCompileCache } from 'node:module';
import { join } from 'node:path';

/** Bits of a mode that let users other than the owner write. */
const OTHERS_WRITE = 0o022;

/**
 * Makes Node cache the compiled code of this program for the next start, so that types are not stripped and functions
 * not compiled again. No effect without a folder that only this user can write to, since other writers could inject
 * code into this process. Must be called before other modules are imported: modules already loaded are not cached.
 *
 * @param {string} root the folder that contains `node_modules`
 * @returns {void}
 */
export function keepCompiledCode(root) {
  try {
    const folder = ownFolder(root);
    if (folder !== undefined) enableCompileCache(folder);
  } catch {
    // The folder cannot be created or read: the start takes longer.
  }
}

/**
 * Writes the compiled code that is not in the cache yet. Takes some 100 ms at the first start of a version, and nothing
 * later.
 *
 * @returns {void}
 */
export const writeCompiledCode = () => flushCompileCache();

/**
 * Path of the cache below the root; the first folder is not created.
 *
 * @type {readonly string[]}
 */
const FOLDER = ['node_modules', '.cache', 'weir'];

/**
 * Returns the folder for compiled code, created if necessary; `undefined` when users other than this one could write to
 * it.
 * @param {string} root
 * @returns {string | undefined}
 * @throws {NodeJS.ErrnoException} the system's error when it cannot be created
 */
export function ownFolder(root) {
  const user = process.geteuid?.();
  if (user === undefined) return undefined;
  let path = root;
  for (const [depth, name] of FOLDER.entries()) {
    path = join(path, name);
    if (depth > 0) mkdirSync(path, { recursive: true, mode: 0o700 });
    const found = lstatSync(path);
    const isOwn = found.isDirectory() && found.uid === user && (found.mode & OTHERS_WRITE) === 0;
    if (!isOwn) return undefined;
  }
  return path;
}
