import { WeirError } from '../errors.ts';
import { loadKoffi as load, type Koffi } from './addons.ts';

/** A native function that is missing or has failed. */
export class NativeError extends WeirError {
  constructor(message: string, options?: ErrorOptions) {
    super('native', message, options);
  }
}

/** An address in the memory of the process; `null` is the null pointer. */
export type Pointer = bigint | null;

/** Symbols of a loaded library. */
export type NativeLibrary = ReturnType<Koffi['load']>;

/**
 * The symbols that the running Node exports: OpenSSL and libuv among others.
 *
 * koffi is a binary for each platform that takes 20 ms to load, so it is loaded on first use, and may
 * be missing.
 *
 * @throws {NativeError} where there is no koffi for this machine.
 */
export function openSelf(): NativeLibrary {
  try {
    return loadKoffi().load(null);
  } catch (error) {
    throw new NativeError('native functions cannot be called on this machine', { cause: error });
  }
}

/** Binds one exported function: the C types of its result and parameters. */
export type Bind = (
  result: string,
  name: string,
  ...parameters: string[]
) => ReturnType<NativeLibrary['func']>;

/**
 * Binds functions that the running Node exports.
 *
 * @returns what binds one; it throws a {@link NativeError} where Node was built with another OpenSSL.
 * @throws {NativeError} as `openSelf` does.
 */
export function exportsOfSelf(): Bind {
  const library = openSelf();
  return (result, name, ...parameters) => {
    try {
      return library.func(name, result, parameters);
    } catch (error) {
      throw new NativeError(`this Node does not export ${name}`, { cause: error });
    }
  };
}

/**
 * The address of the first byte of memory outside of the heap. It holds as long as `memory` lives and
 * is not detached.
 */
export const addressOf = (memory: ArrayBufferLike): number =>
  Number(loadKoffi().address(new Uint8Array(memory)));

/** Memory that C has allocated and never frees, without a copy. */
export const nativeView = (address: number, length: number): Uint8Array<ArrayBuffer> =>
  new Uint8Array(loadKoffi().view(BigInt(address), length));

/**
 * Makes a function of JavaScript callable from C, for as long as the process lives; returns its address.
 * Their number is bounded, so register one for a purpose and never one for an object.
 *
 * @param implementation must not throw: C would go on with the result 0, and the exception is lost.
 */
export function registerCallback(
  result: string,
  parameters: string[],
  implementation: (...values: number[]) => number,
): number {
  const koffi = loadKoffi();
  const type = koffi.pointer(koffi.proto(result, parameters));
  return Number(koffi.register(implementation, type));
}

let loaded: Koffi | undefined;

const loadKoffi = (): Koffi => (loaded ??= load());
