import { NativeError } from '../native.ts';

/** Unused contexts that are kept per cipher; each takes about 1 KB of native memory. */
export const POOLED_CONTEXTS = 64;

/**
 * Unused OpenSSL contexts of one direction, for reuse by the next cipher of the same name: freeing
 * one and creating another takes longer than sealing a short message. Their keys are wiped.
 */
export class EvpContextPool {
  readonly #newContext: () => number;
  readonly #freeContext: (context: number) => void;
  /** Unused contexts by cipher name. */
  readonly #unused = new Map<string, number[]>();

  constructor(newContext: () => number, freeContext: (context: number) => void) {
    this.#newContext = newContext;
    this.#freeContext = freeContext;
  }

  /** Takes an unused context that was initialised for this cipher; `undefined` if there is none. */
  take(cipher: string): number | undefined {
    return this.#unused.get(cipher)?.pop();
  }

  /** Creates an uninitialised context. @throws {NativeError} when OpenSSL is out of memory. */
  create(): number {
    const context = this.#newContext();
    if (context === 0) throw new NativeError('OpenSSL is out of memory');
    return context;
  }

  /** Keeps a context, or frees it if there are enough or its key could not be wiped. */
  give(cipher: string, context: number, isWiped: boolean): void {
    let unused = this.#unused.get(cipher);
    if (!unused) this.#unused.set(cipher, (unused = []));
    if (isWiped && unused.length < POOLED_CONTEXTS) unused.push(context);
    else this.#freeContext(context);
  }
}
