import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fallback from 'bufferutil/fallback.js';
import type { BufferUtil, Koffi } from '../../../packages/io/src/platform/addons.ts';
import { readAsset } from './assets.ts';

/*
 * Stands for packages/io/src/platform/addons.ts in the single executable. The dynamic loader takes native parts
 * from files alone, so each is written to a folder that only this user may enter, loaded, and removed
 * at once: what is loaded stays mapped.
 */

/** @throws {AggregateError} where no folder can be written to and executed from. */
export const loadKoffi = (): Koffi => loadAddon('koffi.node') as Koffi;

/** A binary where there is one for this machine and it can be loaded, and JavaScript elsewhere. */
export function loadBufferUtil(): BufferUtil {
  try {
    return loadAddon('bufferutil.node') as BufferUtil;
  } catch {
    return fallback; // As in source: slower, and the same.
  }
}

/** A temporary folder may be mounted without the right to execute, so there are more than one. */
const folders = (): string[] =>
  [tmpdir(), process.env['XDG_RUNTIME_DIR'], '/run', '/dev/shm', '/var/tmp'].filter(
    (folder): folder is string => folder !== undefined && folder !== '',
  );

function loadAddon(name: string): unknown {
  const bytes = readAsset(name);
  const errors: unknown[] = [];
  for (const parent of folders()) {
    try {
      return loadFrom(parent, name, bytes);
    } catch (error) {
      errors.push(error);
    }
  }
  throw new AggregateError(errors, `${name} cannot be loaded from any temporary folder`);
}

function loadFrom(parent: string, name: string, bytes: Uint8Array): unknown {
  // Mode 0700, and a name that cannot be guessed.
  const folder = mkdtempSync(join(parent, 'weir-'));
  try {
    const file = join(folder, name);
    writeFileSync(file, bytes, { flag: 'wx', mode: 0o500 });
    const loaded = { exports: {} };
    process.dlopen(loaded, file);
    return loaded.exports;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
