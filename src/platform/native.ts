import { createRequire } from 'node:module';
import type koffi from 'koffi';
import { WeirError } from '../errors.ts';

/** Native functions that are not there, or did not do what they promise. */
export class NativeError extends WeirError {
  constructor(message: string, options?: ErrorOptions) {
    super('native', message, options);
  }
}

/** An address in the memory of the process; a pointer that was not given is `null`. */
export type Pointer = bigint | null;

/** Symbols of a loaded library. */
export type NativeLibrary = ReturnType<typeof koffi.load>;

/**
 * What the running Node itself exports: OpenSSL and libuv among others.
 *
 * koffi comes as a binary for each platform, and takes 20 ms to load: so it is loaded here, on
 * first use, and may be missing.
 *
 * @throws {NativeError} where there is no koffi for this machine.
 */
export function openSelf(): NativeLibrary {
  try {
    const library = createRequire(import.meta.url)('koffi') as typeof koffi;
    return library.load(null);
  } catch (error) {
    throw new NativeError('native functions cannot be called on this machine', { cause: error });
  }
}
