import { createRequire } from 'node:module';
import fallback from 'bufferutil/fallback.js';
import type { BufferUtil, Koffi } from '../../../packages/io/src/platform/addons.ts';

/*
 * Stands for packages/io/src/platform/addons.ts in the published package, which contains the JavaScript of these
 * packages: of koffi a binary alone is installed, as a package for each platform, and those of
 * bufferutil lie beside the bundle.
 */

const load = createRequire(import.meta.url);
const PLATFORM = `${process.platform}-${process.arch}`;

/** @throws where koffi has no binary for this machine. */
export const loadKoffi = (): Koffi => load(`@koromix/koffi-${PLATFORM}`) as Koffi;

/** A binary for the usual machines, and JavaScript elsewhere. */
export function loadBufferUtil(): BufferUtil {
  try {
    return load(`./bufferutil-${PLATFORM}.node`) as BufferUtil;
  } catch {
    return fallback; // No binary for this machine.
  }
}
