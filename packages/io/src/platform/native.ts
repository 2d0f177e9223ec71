import { WeirError } from '@weir/base';
import { type BufferUtil, type Koffi, loadBufferUtil, loadKoffi as load } from './addons.ts';

/** A native function that is missing or has failed. */
export class NativeError extends WeirError {
  constructor(message: string, options?: ErrorOptions) {
    super('native', message, options);
  }
}

/** Symbols of a loaded library. */
export type NativeLibrary = ReturnType<Koffi['load']>;

/**
 * Returns the symbols that the running Node exports: OpenSSL and libuv among others.
 *
 * koffi is a platform-specific binary that takes 20 ms to load: it is loaded on first use, and may
 * be missing.
 *
 * @throws {NativeError} if koffi has no binary for this machine.
 */
export function openSelf(): NativeLibrary {
  try {
    return loadKoffi().load(null);
  } catch (error) {
    throw new NativeError('native functions cannot be called on this machine', { cause: error });
  }
}

/** C types of parameters and results, as JavaScript has them. Addresses are plain numbers, 0 the null pointer. */
interface CTypes {
  readonly void: void;
  readonly int: number;
  readonly long: number;
  readonly size_t: number;
  readonly uint16_t: number;
  readonly uint64_t: number;
  readonly uintptr_t: number;
  readonly 'unsigned int': number;
  readonly 'unsigned long': number;
  readonly 'const char *': string | null;
  /** Memory of JavaScript. */
  readonly 'void *': Uint8Array | null;
  readonly 'const void *': Uint8Array | null;
}

/** Binds an exported function, given the C types of its result and parameters. */
type Bind = <Result extends keyof CTypes, Parameters extends readonly (keyof CTypes)[]>(
  result: Result,
  name: string,
  ...parameters: Parameters
) => (
  ...values: { readonly [Index in keyof Parameters]: CTypes[Parameters[Index]] }
) => CTypes[Result];

/**
 * Binds functions that the running Node exports.
 * @returns a function that binds one, and throws a {@link NativeError} if Node was built with
 *   another OpenSSL.
 * @throws {NativeError} as `openSelf` does.
 */
export function exportsOfSelf(): Bind {
  const library = openSelf();
  return (result, name, ...parameters) => {
    try {
      return library.func(name, result, [...parameters]);
    } catch (error) {
      throw new NativeError(`this Node does not export ${name}`, { cause: error });
    }
  };
}

/** Returns the address of memory outside the heap. Valid while `memory` is referenced and not detached. */
export const addressOf = (memory: ArrayBufferLike): number =>
  Number(loadKoffi().address(new Uint8Array(memory)));

/** Returns a view of memory that C allocated and never frees. */
export const nativeView = (address: number, length: number): Uint8Array<ArrayBuffer> =>
  new Uint8Array(loadKoffi().view(BigInt(address), length));

/**
 * Makes a JavaScript function callable from C for the lifetime of the process; returns its address.
 * Their number is limited: register one per purpose, never one per object.
 * @param implementation must not throw: C would continue with the result 0, and the exception would
 *   be lost.
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

/** Returns the `errno` of the native call directly before. */
export const nativeErrno = (): number => loadKoffi().errno();

let loaded: Koffi | undefined;

const loadKoffi = (): Koffi => (loaded ??= load());

/**
 * bufferutil, loaded on first use: a binary on common platforms and JavaScript elsewhere; 64 KB in 3 microseconds, or
 * in 12 to 30 by the loops here.
 */
let bufferUtil: BufferUtil | undefined;

const native = (): BufferUtil => (bufferUtil ??= loadBufferUtil());

const KEY_BYTES = 4;

/** XORs `data` in place with a repeated key of 4 bytes. */
export function xorInPlace(data: Uint8Array, key: Uint8Array): void {
  if (key.length !== KEY_BYTES) throw new RangeError('a key has 4 bytes');
  native().unmask(data, key);
}

/** Writes `source`, XORed with a repeated key of 4 bytes, to the start of `out`. */
export function xorInto(source: Uint8Array, key: Uint8Array, out: Uint8Array): void {
  if (key.length !== KEY_BYTES) throw new RangeError('a key has 4 bytes');
  if (out.length < source.length) throw new RangeError('no room for the result');
  native().mask(source, key, out, 0, source.length);
}
