/**
 * Decisions read from a string of bytes: fast-check makes and shrinks the bytes, a generator written
 * as plain code makes a document of them. Bytes that have run out are zeros, the simplest choice.
 */
export class Choices {
  readonly #bytes: Uint8Array;
  #next = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** A number from 0 to `count - 1`, at most 256 of them. */
  below(count: number): number {
    const byte = this.#bytes[this.#next] ?? 0;
    this.#next += 1;
    return byte % count;
  }

  /** True once in `count`; never when the bytes have run out. */
  oneIn(count: number): boolean {
    return this.below(count) === count - 1;
  }

  from<const T>(options: readonly [T, ...T[]]): T {
    return options[this.below(options.length)] ?? options[0];
  }

  shuffled<T>(items: readonly T[]): T[] {
    const rest = [...items];
    const result: T[] = [];
    while (rest.length > 0) result.push(...rest.splice(this.below(rest.length), 1));
    return result;
  }
}
