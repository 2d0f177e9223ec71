import { randomFillSync } from 'node:crypto';

/** XORs bytes in place with a masking key of 4 bytes (RFC 6455 §5.3), from its byte `phase` on. */
export function applyMask(data: Uint8Array, key: Uint8Array, phase = 0): void {
  const { length } = data;
  let at = 0;
  const one = (): void => {
    // Both indices are in range: `at` below length, the key has 4 bytes.
    data[at] = (data[at] as number) ^ (key[(at + phase) & 3] as number);
    at++;
  };
  if (length >= WORTH_WORDS) {
    while (((data.byteOffset + at) & 3) !== 0) one();
    const rotated = Uint8Array.of(...[0, 1, 2, 3].map((i) => key[(at + phase + i) & 3] as number));
    // Bytes and key are read by the same word, so the machine's byte order cancels out.
    const [word = 0] = new Uint32Array(rotated.buffer);
    const words = new Uint32Array(data.buffer, data.byteOffset + at, (length - at) >> 2);
    for (let i = 0; i < words.length; i++) words[i] = (words[i] as number) ^ word;
    at += words.length * 4;
  }
  while (at < length) one();
}

const WORTH_WORDS = 32;
const POOL_BYTES = 4096;

/** Unpredictable masking keys; asking for random bytes one key at a time would cost more. */
export class MaskKeys {
  readonly #pool = Buffer.allocUnsafeSlow(POOL_BYTES);
  #used = POOL_BYTES;

  /** Four bytes, which are overwritten some calls later. */
  next(): Uint8Array {
    if (this.#used === POOL_BYTES) {
      randomFillSync(this.#pool);
      this.#used = 0;
    }
    return this.#pool.subarray(this.#used, (this.#used += 4));
  }
}
