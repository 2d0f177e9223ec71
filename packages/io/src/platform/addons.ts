import { createRequire } from 'node:module';
import type koffi from 'koffi';

/*
 * Packages with a native part, all in one place: a bundle locates these parts differently, so its
 * build replaces this file (packaging/substitutes/).
 */

export type Koffi = typeof koffi;

/** The functions of bufferutil in use; it has no types. */
export interface BufferUtil {
  mask(source: Uint8Array, key: Uint8Array, out: Uint8Array, offset: number, length: number): void;
  unmask(data: Uint8Array, key: Uint8Array): void;
}

/** Loads koffi. @throws if koffi has no binary for this machine. */
export const loadKoffi = (): Koffi => createRequire(import.meta.url)('koffi') as Koffi;

/** Loads bufferutil: a binary on common platforms, JavaScript elsewhere. */
export const loadBufferUtil = (): BufferUtil =>
  createRequire(import.meta.url)('bufferutil') as BufferUtil;
