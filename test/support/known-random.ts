import { hash } from 'node:crypto';
import type { RandomSource } from '@weir/base/random';

/** Bytes that a seed determines, the same in every run. */
export class KnownRandom implements RandomSource {
  readonly #seed: string;
  #count = 0;

  constructor(seed = 'weir') {
    this.#seed = seed;
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.alloc(length);
    this.fill(bytes);
    return bytes;
  }

  below(limit: number): number {
    return this.bytes(4).readUInt32BE() % limit;
  }

  fill(target: Uint8Array): void {
    for (let at = 0; at < target.length; at += 32) {
      const block = hash('sha256', `${this.#seed} ${this.#count++}`, 'buffer');
      target.set(block.subarray(0, target.length - at), at);
    }
  }
}
