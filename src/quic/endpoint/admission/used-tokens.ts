import { MAX_USED_TOKENS } from '../limits.ts';

/** Bytes that identify a token: a part of its nonce, which is random. */
const KEY_SIZE = 16;

/**
 * Tokens of NEW_TOKEN that have been used (RFC 9000 §8.1.4). The last `MAX_USED_TOKENS` are remembered at
 * least, and twice as many at most.
 */
export class UsedTokens {
  #recent = new Set<string>();
  #former = new Set<string>();

  /** Records a token as used. Only for tokens issued by this process, so that forged ones cannot fill the memory. */
  add(bytes: Uint8Array, offset: number): void {
    this.#recent.add(keyOf(bytes, offset));
    if (this.#recent.size < MAX_USED_TOKENS) return;
    this.#former = this.#recent;
    this.#recent = new Set();
  }

  has(bytes: Uint8Array, offset: number): boolean {
    const key = keyOf(bytes, offset);
    return this.#recent.has(key) || this.#former.has(key);
  }
}

const keyOf = (bytes: Uint8Array, offset: number): string =>
  Buffer.from(bytes.subarray(offset, offset + KEY_SIZE)).toString('latin1');
