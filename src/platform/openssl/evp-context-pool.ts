import { NativeError } from '../native.ts';

/** Contexts that are kept for each cipher: about 1 KB of native memory each. */
export const POOLED_CONTEXTS = 64;

/**
 * Contexts of OpenSSL for one direction that nothing uses, for the next cipher of their kind: to free
 * one and make another takes longer than to seal a short message. Those that are here have no key any
 * more.
 */
export class EvpContextPool {
  readonly #newContext: () => number;
  readonly #freeContext: (context: number) => void;
  /** By the cipher's name. */
  readonly #unused = new Map<string, number[]>();

  constructor(newContext: () => number, freeContext: (context: number) => void) {
    this.#newContext = newContext;
    this.#freeContext = freeContext;
  }

  /** A context that was initialized for the cipher before; `undefined` when there is none. */
  take(cipher: string): number | undefined {
    return this.#unused.get(cipher)?.pop();
  }

  /** A new context, for no cipher yet. @throws {NativeError} when OpenSSL is out of memory. */
  create(): number {
    const context = this.#newContext();
    if (context === 0) throw new NativeError('OpenSSL is out of memory');
    return context;
  }

  /** Keeps a context, or frees it when there are enough, or when its key could not be wiped. */
  give(cipher: string, context: number, isWiped: boolean): void {
    let unused = this.#unused.get(cipher);
    if (!unused) this.#unused.set(cipher, (unused = []));
    if (isWiped && unused.length < POOLED_CONTEXTS) unused.push(context);
    else this.#freeContext(context);
  }
}
