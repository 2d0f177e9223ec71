import { createRequire } from 'node:module';
import type koffi from 'koffi';

/*
 * Packages with a native part, all in one place: a bundle finds these parts by other means, so its
 * build puts another file in the place of this one (packaging/substitutes/).
 */

export type Koffi = typeof koffi;

/** The functions of bufferutil that are called; it comes without types. */
export interface BufferUtil {
  mask(source: Uint8Array, key: Uint8Array, out: Uint8Array, offset: number, length: number): void;
  unmask(data: Uint8Array, key: Uint8Array): void;
}

/** @throws where koffi has no binary for this machine. */
export const loadKoffi = (): Koffi => createRequire(import.meta.url)('koffi') as Koffi;

/** A binary for the usual machines, and JavaScript elsewhere. */
export const loadBufferUtil = (): BufferUtil =>
  createRequire(import.meta.url)('bufferutil') as BufferUtil;
