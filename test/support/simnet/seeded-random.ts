import type { RandomSource } from '@weir/base/random';

/** Numbers and bytes that depend on the seed alone (xoshiro128**, by Blackman and Vigna). */
export class SeededRandom implements RandomSource {
  readonly #state = new Uint32Array(4);

  constructor(seed: number) {
    // SplitMix32 spreads a small seed over the whole state.
    let mixed = seed >>> 0;
    for (let i = 0; i < 4; i++) {
      mixed = (mixed + 0x9e37_79b9) >>> 0;
      let word = mixed;
      word = Math.imul(word ^ (word >>> 16), 0x21f0_aaad);
      word = Math.imul(word ^ (word >>> 15), 0x735a_2d97);
      this.#state[i] = word ^ (word >>> 15);
    }
  }

  /** 32 bits. */
  next(): number {
    const [a = 0, b = 0, c = 0, d = 0] = this.#state;
    const times5 = Math.imul(b, 5);
    const result = Math.imul((times5 << 7) | (times5 >>> 25), 9) >>> 0;
    const c2 = c ^ a;
    const d2 = d ^ b;
    this.#state[1] = b ^ c2;
    this.#state[0] = a ^ d2;
    this.#state[2] = c2 ^ (b << 9);
    this.#state[3] = (d2 << 11) | (d2 >>> 21);
    return result;
  }

  /** From 0 up to, and without, 1. */
  fraction(): number {
    return this.next() / 2 ** 32;
  }

  /** Whether something happens that happens with this probability. */
  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  below(limit: number): number {
    return Math.floor(this.fraction() * limit);
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.alloc(length);
    this.fill(bytes);
    return bytes;
  }

  fill(target: Uint8Array): void {
    for (let at = 0; at < target.length; at++) target[at] = this.next() & 0xff;
  }
}
