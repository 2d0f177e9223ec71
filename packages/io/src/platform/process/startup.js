// @ts-check
/*
 * JavaScript, as is `packages/weir/src/main.js`: what strips the types of a module that is not in the compile cache takes
 * 20 MB for the life of the process, and 40 ms.
 */
import { lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { enableCompileCache, flushCompileCache, registerHooks } from 'node:module';
import { join } from 'node:path';

/**
 * Sets the process name for `ps`, `top`, `pkill` and the journal, which otherwise show the name of
 * Node's main thread: proc(5), /proc/pid/comm. Unlike `process.title`, does not overwrite the
 * command line.
 *
 * @returns {void}
 */
export function nameProcess() {
  if (process.platform !== 'linux') return;
  try {
    writeFileSync('/proc/self/comm', 'weir');
  } catch {
    // Without /proc the name is unchanged.
  }
}

/** Number of threads of libuv's pool, of which getaddrinfo(3) may use half; the default is four. */
const THREADS = '16';

/**
 * Enlarges the thread pool, for look-ups by the C library, unless the environment sets its size.
 * No effect once the pool has been used.
 *
 * @param {NodeJS.ProcessEnv} env the environment of the process, which libuv reads
 * @returns {void}
 */
export function widenThreadPool(env) {
  env['UV_THREADPOOL_SIZE'] ??= THREADS;
}

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
 * Writes the compiled code that is not in the cache yet, and frees what was read from the cache
 * (`findings/node-keeps-its-compile-cache-in-memory.sh`). Takes some 100 ms at the first start of a version, and nothing
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
 *
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

/**
 * Has each entry of the packages of this workspace resolved once. Node looks for the package of every import anew, from
 * the folder of the importing file upwards: some 400 times at a start from source, 20 ms and 5 MB.
 *
 * @returns {void}
 */
export function resolveEntriesOnce() {
  /** @type {Map<string, import('node:module').ResolveFnOutput>} */
  const resolved = new Map();
  registerHooks({
    resolve(specifier, context, next) {
      if (!specifier.startsWith('@weir/')) return next(specifier, context);
      const known = resolved.get(specifier) ?? { ...next(specifier, context), shortCircuit: true };
      resolved.set(specifier, known);
      return known;
    },
  });
}
